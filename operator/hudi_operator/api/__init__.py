"""The resources of the API group `hudi-operator.io`, version `v1beta1`, as frozen pydantic models.

The CRDs in `crds/` are generated from these models; see `hudi_operator.api.crd.definitions`.
"""

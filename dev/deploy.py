"""Installs or upgrades the operator in the cluster, with the images that dev/images has built."""

import sys

from toolkit.cluster import Cluster, CommandFailed

if __name__ == "__main__":
    try:
        Cluster().install_operator()
    except CommandFailed as error:
        sys.exit(f"FAILED: {error}")
    print("The operator is installed and ready. Try: kubectl --kubeconfig .dev/kubeconfig get ht -A")

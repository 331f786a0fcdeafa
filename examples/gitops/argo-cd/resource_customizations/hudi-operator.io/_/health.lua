-- Health of a HudiTable, HudiTableClass, HudiSavepoint or HudiOperation, whose conditions follow kstatus.
local hs = { status = "Progressing", message = "Waiting for the operator" }

if obj.status == nil or obj.status.conditions == nil then
    return hs
end
if obj.metadata.generation ~= nil and obj.status.observedGeneration ~= obj.metadata.generation then
    hs.message = "Waiting for the operator to observe the newest spec"
    return hs
end

local found = {}
for _, condition in ipairs(obj.status.conditions) do
    found[condition.type] = condition
end

local function holds(kind)
    return found[kind] ~= nil and found[kind].status == "True"
end

if holds("Stalled") then
    hs.status, hs.message = "Degraded", found["Stalled"].message
elseif holds("Suspended") then
    hs.status, hs.message = "Suspended", found["Suspended"].message
elseif holds("Reconciling") and found["Reconciling"].reason == "AwaitingApproval" then
    hs.status, hs.message = "Suspended", found["Reconciling"].message
elseif holds("Reconciling") then
    hs.message = found["Reconciling"].message
    if found["Ready"] ~= nil and found["Ready"].status == "False" then
        hs.message = found["Ready"].message
    end
elseif holds("Expired") then
    hs.status, hs.message = "Healthy", found["Expired"].message
elseif found["Ready"] ~= nil and found["Ready"].status == "False" then
    hs.status, hs.message = "Degraded", found["Ready"].message
elseif holds("Ready") then
    hs.status, hs.message = "Healthy", found["Ready"].message
    if found["Healthy"] ~= nil and found["Healthy"].status == "False" then
        hs.message = found["Healthy"].message
    end
end
return hs

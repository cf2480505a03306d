import { handOut, needsIndexes } from '#agent/contract'
import { type Because, because, together } from '#manager/contract'
import { type FindingByKey, type PartCheck, ok, problem, warning } from '../check.ts'
import { type Facts, type GpuFacts } from '../facts.ts'

type Nvidia = Extract<Facts['nvidia'], { status: 'works' }>
type Reachable = Extract<Facts['engine'], { status: 'reachable' }>

export const gpu: PartCheck = {
  name: 'GPU',
  nameBy: 'check_gpu',
  of: ['agent'],
  run({ nvidia, amd, engine }) {
    if (nvidia.status === 'absent') return amd.gpus === 0 ? ok(because('gpu_no_driver')) : ofAmd(amd)
    if (nvidia.status === 'failing')
      return problem(because('nvidia_smi_fails', { text: nvidia.why }), because('nvidia_smi_fails_mend'))
    const parts = because(nvidia.limitsMemory ? 'gpu_limits_memory' : 'gpu_without_limits')
    const found = { count: nvidia.gpus.length, driver: nvidia.driver }
    // Without an instance, a GPU in MIG mode offers nothing to hand out.
    if (engine.status === 'unreachable' || nvidia.gpus.length === 0 || hasOwnPrograms(engine))
      return ok(together(because('gpus_found', found), parts))
    return judge(nvidia, engine.gpus, parts)
  },
}

/** The agent gives the files of a GPU to sessions itself, so nothing of the engine is needed. */
function ofAmd({ gpus, canCompute }: Facts['amd']): FindingByKey {
  const found = because('amd_gpus_found', { count: gpus })
  return canCompute ? ok(found) : problem(because('amd_without_kfd'), because('amd_without_kfd_mend'))
}

/** An engine in a virtual machine or a container has programs of its own: whether NVIDIA's hook is there shows at a start. */
function hasOwnPrograms({ hasBridgesHere, gpus: { names, runtime } }: Reachable): boolean {
  return !hasBridgesHere && names.length === 0 && !runtime
}

/** Decides for each GPU separately, like the agent at each start. */
function judge(nvidia: Nvidia, engine: GpuFacts, parts: Because): FindingByKey {
  const found = { count: nvidia.gpus.length, driver: nvidia.driver }
  const hook = engine.runtime || nvidia.hook
  const ways = nvidia.gpus.map(gpu => handOut({ names: engine.names, hook }, [gpu]).by)
  const known = ways.filter(way => way === 'cdi').length
  if (known < found.count && engine.names.length > 0) {
    // With the hook every GPU can be used, but the list is still wrong.
    return (hook ? warning : problem)(because('cdi_knows_some', { known, ...found }), because('cdi_generate_mend'))
  }
  if (known > 0) {
    const named = because(needsIndexes({ names: engine.names, hook }) ? 'gpus_by_cdi_index' : 'gpus_by_cdi', {
      known,
      count: found.count,
    })
    return ok(together(because('gpus_found', found), named, parts))
  }
  if (hook) return ok(together(because('gpus_usable', found), parts))
  if (engine.cdi === 'unlisted') return ok(together(because('gpus_found', found), because('cdi_unlisted'), parts))
  return problem(because('gpus_not_usable', found), MEND[engine.cdi])
}

const MEND = {
  unknown: because('gpus_not_usable_mend'),
  off: because('cdi_off_mend'),
  listed: because('cdi_generate_mend'),
}

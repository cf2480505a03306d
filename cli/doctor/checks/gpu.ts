import { because, together } from '#manager/contract'
import { type PartCheck, ok, problem } from '../check.ts'

export const gpu: PartCheck = {
  name: 'GPU',
  nameBy: 'check_gpu',
  of: ['agent'],
  run({ nvidia, engine }) {
    if (nvidia.status === 'absent') return ok(because('gpu_no_driver'))
    if (nvidia.status === 'failing')
      return problem(because('nvidia_smi_fails', { text: nvidia.why }), because('nvidia_smi_fails_mend'))
    const found = { count: nvidia.gpus, driver: nvidia.driver }
    const parts = because(nvidia.limitsMemory ? 'gpu_limits_memory' : 'gpu_without_limits')
    if (engine.status === 'unreachable') return ok(together(because('gpus_found', found), parts))
    if (engine.runtimes.includes('nvidia') || engine.cdi) return ok(together(because('gpus_usable', found), parts))
    return problem(because('gpus_not_usable', found), because('gpus_not_usable_mend'))
  },
}

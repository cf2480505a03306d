import { type Check, ok, problem } from '../check.ts'

export const gpu: Check = {
  name: 'GPU',
  of: ['agent'],
  run({ nvidia, engine }) {
    if (nvidia.status === 'absent') return ok('No NVIDIA driver on this computer; sessions get CPU and memory only.')
    if (nvidia.status === 'failing')
      return problem(
        `nvidia-smi fails: ${nvidia.why}`,
        'Load the driver (modprobe nvidia) or install it again. After a driver update, restart the computer.',
      )
    const found = `${nvidia.gpus} GPU${nvidia.gpus === 1 ? '' : 's'}, driver ${nvidia.driver}`
    const parts = nvidia.limitsMemory
      ? 'The driver can limit the memory of GPU shares. The agent tests that (`berth admin agent device ls`).'
      : 'Memory of GPU shares is not limited: that needs driver R615 or newer, and cgroups v2.'
    if (engine.status === 'unreachable') return ok(`${found}. ${parts}`)
    if (engine.runtimes.includes('nvidia') || engine.cdi) return ok(`${found}; the engine can hand them out. ${parts}`)
    return problem(
      `${found}, but the engine cannot hand them to containers.`,
      'Install nvidia-container-toolkit, run `nvidia-ctk runtime configure --runtime=docker`, then restart Docker.',
    )
  },
}

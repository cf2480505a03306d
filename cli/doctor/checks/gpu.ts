import { type Check, ok, problem } from '../check.ts'

export const gpu: Check = {
  name: 'GPU',
  run({ nvidia, engine }) {
    if (nvidia.status === 'absent') return ok('No NVIDIA driver on this computer; sessions get CPU and memory only.')
    if (nvidia.status === 'failing')
      return problem(
        `nvidia-smi fails: ${nvidia.why}`,
        'Load the driver (modprobe nvidia) or install it again; after a driver update the computer has to be restarted.',
      )
    const found = `${nvidia.gpus} GPU${nvidia.gpus === 1 ? '' : 's'}, driver ${nvidia.driver}`
    const parts = nvidia.limitsMemory
      ? 'The driver can hold parts of them to their memory; the agent tries whether it does (`berth admin agent device ls`).'
      : 'Parts of them are by accounting only: limits take driver R615 or newer, and control groups v2.'
    if (engine.status === 'unreachable') return ok(`${found}. ${parts}`)
    if (engine.runtimes.includes('nvidia') || engine.cdi) return ok(`${found}; the engine can hand them out. ${parts}`)
    return problem(
      `${found}, but the engine has no way to give them to containers.`,
      'Install nvidia-container-toolkit, run `nvidia-ctk runtime configure --runtime=docker`, then restart Docker.',
    )
  },
}

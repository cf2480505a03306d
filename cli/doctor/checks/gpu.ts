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
    if (engine.status === 'unreachable') return ok(`${found}.`)
    if (engine.runtimes.includes('nvidia') || engine.cdi) return ok(`${found}; the engine can hand them out.`)
    return problem(
      `${found}, but the engine has no way to give them to containers.`,
      'Install nvidia-container-toolkit, run `nvidia-ctk runtime configure --runtime=docker`, then restart Docker.',
    )
  },
}

import { type Check, ok, problem } from '../check.ts'

export const toolboxImage: Check = {
  name: 'toolbox image',
  run({ engine }) {
    if (engine.status === 'unreachable') return undefined
    const { image, present } = engine.toolbox
    if (present) return ok(`${image} is on the engine.`)
    return problem(
      `${image} is not on the engine: sessions have no terminal, SSH or SFTP.`,
      'Run `npm start` once on this machine, which builds the image. On other hosts, load it with `docker load`.',
    )
  },
}

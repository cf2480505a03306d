import { type Check, ok, problem } from '../check.ts'

export const toolboxImage: Check = {
  name: 'toolbox image',
  of: ['agent'],
  run({ engine }) {
    if (engine.status === 'unreachable') return undefined
    const { image, present } = engine.toolbox
    if (present) return ok(`${image} is on the engine.`)
    return problem(
      `${image} is not on the engine: sessions have no terminal, SSH or SFTP.`,
      'Run `berth admin image build toolbox` on this computer (in a clone, `npm start` does), or load the image with `docker load`.',
    )
  },
}

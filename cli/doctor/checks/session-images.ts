import { type Check, ok, warning } from '../check.ts'

export const sessionImages: Check = {
  name: 'session images',
  of: ['agent'],
  run({ engine }) {
    if (engine.status === 'unreachable') return undefined
    if (engine.sessionImages > 0) return ok(`${engine.sessionImages} on the engine.`)
    return warning(
      'The engine has no session image.',
      'Run `berth admin image build python` (in a clone, `npm start` does), or pull an image with `docker pull`.',
    )
  },
}

import { type Check, ok, warning } from '../check.ts'

export const sessionImages: Check = {
  name: 'session images',
  run({ engine }) {
    if (engine.status === 'unreachable') return undefined
    if (engine.sessionImages > 0) return ok(`${engine.sessionImages} on the engine.`)
    return warning(
      'The engine has no session image.',
      'Run `npm start` once, which builds a first image, or pull one with `docker pull`.',
    )
  },
}

import { type Check, ok, warning } from '../check.ts'

export const sessionImages: Check = {
  name: 'session images',
  run({ engine }) {
    if (engine.status === 'unreachable') return undefined
    if (engine.sessionImages > 0) return ok(`${engine.sessionImages} on the engine.`)
    return warning(
      'There is no image on the engine that says what it offers to sessions.',
      'Run `npm start` once: it builds a first one. Or pull one with `docker pull`.',
    )
  },
}

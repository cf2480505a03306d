import { type Check, ok, problem } from '../check.ts'

export const consolePort: Check = {
  name: 'console port',
  run({ consolePort: { port, status } }) {
    if (status === 'free') return ok(`Port ${port} is free.`)
    if (status === 'ours') return ok(`Port ${port} is the console of this Berth.`)
    return problem(
      `Another program listens on port ${port}.`,
      'Close that program, or choose another port: `berth up --port N` (0 = any).',
    )
  },
}

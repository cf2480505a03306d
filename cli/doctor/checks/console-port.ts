import { type Check, ok, problem } from '../check.ts'

export const consolePort: Check = {
  name: 'console port',
  run({ consolePort: { port, status } }) {
    if (status === 'free') return ok(`Port ${port} is free.`)
    if (status === 'ours') return ok(`The console of this Berth uses port ${port}.`)
    if (status === 'reserved')
      return problem(
        `This user may not listen at port ${port}.`,
        'Choose a port from 1024 up: `berth up --port N` (0 = any).',
      )
    return problem(
      `Another program is using port ${port}.`,
      'Close that program, or choose another port: `berth up --port N` (0 = any).',
    )
  },
}

import { because } from '#manager/contract'
import { type PartCheck, ok, problem } from '../check.ts'

/** Runs the command of the administrator, as the agent does. */
export const healthCommand: PartCheck = {
  name: 'health command',
  nameBy: 'check_health_command',
  of: ['agent'],
  run({ health }) {
    if (health === undefined) return undefined
    const { program } = health
    if (health.failure === undefined) return ok(because('health_command_passes', { program }))
    return problem(
      because('health_command_fails', { program, text: health.failure }),
      because('health_command_fails_mend'),
    )
  },
}

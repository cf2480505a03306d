import { because, type Reason, reasonOf, together } from '#manager/contract'
import { type Action } from './reconcile.ts'

/**
 * Reason for the end of a session whose container has ended. @param isAfterKill shortly before, a program of the container other than its
 * main process was ended because of a lack of memory
 */
export function exitReason(exit: Extract<Action, { do: 'ended' }>['exit'], isAfterKill: boolean): Reason {
  if (exit.stopped) return exit.stopped
  if (exit.oomKilled) {
    return reasonOf('oom_killed', because('ran_out_of_memory'))
  }
  if (exit.engineRestarted) {
    return { code: 'engine_restarted', message: 'The container ended because Docker or the host restarted.' }
  }
  const ended = because('process_ended', { exitCode: exit.exitCode })
  return reasonOf('exited', isAfterKill && exit.exitCode !== 0 ? together(ended, because('after_memory_kill')) : ended)
}

import { createKeyedMutex } from '#base/mutex'
import { AppError, type KernelId } from '#manager/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { type RunningKernel } from '../running-kernel.ts'
import { type KernelFiles } from './kernel-files.ts'
import { tellTerminals } from './tell-terminals.ts'

/**
 * Shell script that notifies the programs of a container of an upcoming interruption. A process gets SIGUSR1 only if it has a handler for
 * it (third last digit of SigCgt), because the signal ends all others, and only if it comes from the start-up command: a program that was
 * started from outside has an ancestor 0, and Node.js, of which web apps are made, answers the signal with a debugger.
 */
const SIGNAL = `comes_from_start() {
  process=$1
  while [ "$process" -gt 1 ] 2> /dev/null; do
    process=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$process/status 2> /dev/null)
  done
  [ "$process" = 1 ]
}
for status in /proc/[0-9]*/status; do
  pid=\${status#/proc/}; pid=\${pid%/status}
  case $(sed -n 's/^SigCgt:[[:space:]]*//p' $status 2> /dev/null) in
    *[2367abef]??) [ "$pid" != 1 ] && comes_from_start $pid && kill -USR1 $pid 2> /dev/null ;;
  esac
done
`

/**
 * Notifies a running container when its session will be interrupted, or (null) that it will not be. The same time is announced only once.
 */
export type WarnKernel = (
  kernelId: KernelId,
  at: string | null,
  options: {
    /** Whether the session ends then, and does not continue later. */
    readonly isEnd: boolean
  },
) => Promise<void>

export function createInterruptionNotice(deps: {
  readonly engine: EngineClient
  readonly files: Pick<KernelFiles, 'setInterruption'>
  readonly find: (kernelId: string) => RunningKernel | undefined
}): WarnKernel {
  const { engine, files, find } = deps
  const inTurn = createKeyedMutex()
  return (kernelId, at, { isEnd }) =>
    inTurn(kernelId, async () => {
      const kernel = find(kernelId)
      if (!kernel) throw new AppError('kernel_not_found', { kernelId })
      // Write the file first: a program that gets the signal reads the time from it.
      if (!(await files.setInterruption(kernelId, at))) return
      await tellTerminals(engine, kernel, textOf(at, isEnd), at === null ? '' : SIGNAL)
    })
}

function textOf(at: string | null, isEnd: boolean): string {
  if (at === null) return `Berth: this session ${isEnd ? 'does not end yet' : 'is not interrupted'}, after all.`
  const time = new Date(at).toISOString().slice(11, 19)
  if (isEnd) return `Berth: this session ends at ${time} UTC, with its job in Slurm. Save your work.`
  return `Berth: this session makes room for one of higher priority at ${time} UTC, and continues later with its files. Save your work.`
}

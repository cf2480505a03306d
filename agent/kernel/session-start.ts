import { AppError, because } from '#manager/contract'
import { STARTED_MARK } from '../docker/start-script.ts'
import { type EngineClient } from '../docker/engine-client.ts'
import { runInside } from '../docker/run-inside.ts'
import { type RunningKernel } from '../running-kernel.ts'
import { type KernelFiles } from './kernel-files.ts'

const BUSYBOX = '/opt/berth/bin/busybox'

/** Shell script: waits for the mark for the given number of tenths of a second. */
const WAIT = `i=0
while [ ! -e "$1" ]; do
  [ $i -lt "$2" ] || exit 1
  i=$((i + 1)); ${BUSYBOX} sleep 0.1
done`

/**
 * Waits until the start-up script of a session has ended, so that apps find its results. @throws `app_failed` if it still runs after
 * `timeoutMs`
 */
export async function waitForStart(
  engine: EngineClient,
  files: Pick<KernelFiles, 'hasStartScript'>,
  { kernel, app, timeoutMs }: { kernel: RunningKernel; app: string; timeoutMs: number },
): Promise<void> {
  if (!(await files.hasStartScript(kernel.kernelId))) return
  const command = [BUSYBOX, 'sh', '-c', WAIT, 'berth', STARTED_MARK, String(Math.ceil(timeoutMs / 100))]
  const { exitCode } = await runInside(engine, kernel, { command })
  if (exitCode === 0) return
  throw new AppError('app_failed', {
    app,
    ...because('start_up_script_runs'),
  })
}

import { join } from 'node:path'
import { type RequestReply } from '#agent/contract'
import { AppError, because } from '#manager/contract'
import { type Config } from '../config.ts'
import { failed } from '../program/failed.ts'
import { HOST_PLACES, type HostPlaces, type Installation } from '../program/installation.ts'
import { startUnit, type StartUnit } from '../program/start-unit.ts'

export interface LeavingDeps {
  readonly installation: Installation
  readonly config: Pick<Config, 'directory' | 'scratchDirectory' | 'storage'>
  /** Number of containers of sessions on this host. */
  readonly containers: () => number
  readonly places?: HostPlaces
  readonly start?: StartUnit
}

/**
 * Lets this host leave: starts the script of the installation, which ends the agent and removes Berth. Where another way of installation
 * has brought the agent, only what stays is told.
 *
 * @throws AppError `unavailable`
 */
export async function leaveHost(
  { images }: { readonly images: boolean },
  { installation, config, containers, places = HOST_PLACES, start = startUnit }: LeavingDeps,
): Promise<RequestReply<'leave_host'>> {
  const count = containers()
  if (count > 0) throw new AppError('unavailable', because('leave_sessions', { count }))
  const removes = installation.kind === 'line'
  if (removes) {
    const script = join(places.programs, installation.name ?? '', 'add-host.sh')
    await start('berth-agent-leave', ['/bin/sh', script, '--leave', ...(images ? ['--images'] : [])]).catch(
      (error: unknown) => {
        throw failed('leave_not_started', error)
      },
    )
  }
  const isBelow = config.scratchDirectory.startsWith(`${config.directory}/`)
  return { removes, homes: isBelow ? [] : [config.scratchDirectory], storage: config.storage.map(({ path }) => path) }
}

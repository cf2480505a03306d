import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { type AgentProgram } from '#agent/contract'

export interface Installation extends Pick<AgentProgram, 'kind' | 'digest'> {
  /** Name of its folder below `places.programs`, if the line installed it. */
  readonly name: string | undefined
}

/** Places that `build/host/add-host.sh` fills. */
export interface HostPlaces {
  /** Folder with a folder for each program, and the link `current`. */
  readonly programs: string
  readonly unit: string
  /** The script leaves the outcome of an update here. */
  readonly outcome: string
}
export const HOST_PLACES: HostPlaces = {
  programs: '/opt/berth',
  unit: '/etc/systemd/system/berth-agent.service',
  outcome: '/opt/berth/update-outcome',
}

const Described = z.object({ version: z.string(), digest: z.string().regex(/^[0-9a-f]{64}$/) })

/** Version and digest in the file `program.json` of a bundle; undefined if there is none. */
export function describedIn(folder: string): z.infer<typeof Described> | undefined {
  try {
    return Described.safeParse(parseJson(readFileSync(join(folder, 'program.json'), 'utf8'))).data
  } catch {
    return undefined
  }
}

/**
 * How a program came to this computer.
 *
 * @param root folder of the program
 * @param isService whether a service manager has started it
 */
export function readInstallation(root: string, isService: boolean, places = HOST_PLACES): Installation {
  const folder = realpathSync(root)
  const described = describedIn(folder)
  if (described && dirname(folder) === places.programs) {
    const kind = isService && isOurs(places) ? 'line' : 'terminal'
    return { kind, digest: described.digest, name: basename(folder) }
  }
  const kind = folder.startsWith('/usr/') ? 'package' : isContainer() ? 'container' : 'folder'
  return { kind, digest: null, name: undefined }
}

/** Whether the service is the one of the script, which it can change and put back. */
function isOurs({ unit, programs }: HostPlaces): boolean {
  try {
    return readFileSync(unit, 'utf8').includes(`ExecStart=${programs}/current/`)
  } catch {
    return false
  }
}

const isContainer = () => existsSync('/.dockerenv') || existsSync('/run/.containerenv')

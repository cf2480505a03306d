import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { LABEL_MANAGER } from '#agent/contract'
import { AppError } from '#manager/contract'
import { type Config } from '../config.ts'
import { lockDirectory } from '../directory-lock.ts'
import { readClaim } from '../docker/engine-claim.ts'
import { createEngineClient, type EngineClient, engineMessage, isMissing } from '../docker/engine-client.ts'
import { tagsOf, TOOLBOX_REPOSITORY } from '../images/image-labels.ts'
import { LABEL_TOOLBOX } from '../toolbox/toolbox.ts'
import { removeChains } from '../network/remove-chains.ts'
import { hostIptables, type Iptables } from '../network/iptables.ts'

type LeavingConfig = Pick<Config, 'directory' | 'dockerHost' | 'claimVolume' | 'networkRange' | 'leave'>

const Stored = z.object({ agentId: z.string(), manager: z.object({ managerId: z.string() }).optional() })

/**
 * Removes what Berth has on this engine and in the firewall of this host, for an agent that will not run again. A container of a session
 * that still runs stops it. What other agents on this engine also use stays while there are any: firewall, toolbox and images.
 *
 * @param tell gets a line for each thing that stays, and why
 * @throws AppError `data_dir_locked` while the agent runs, `unavailable` if something could not be removed
 */
export async function leaveEngine(
  config: LeavingConfig,
  tell: (line: string) => void,
  iptables: Iptables = hostIptables(),
): Promise<void> {
  await using _lock = await lockDirectory(config.directory)
  const text = await readFile(join(config.directory, 'agent.json'), 'utf8').catch(() => '')
  const stored = Stored.safeParse(parseJson(text)).data
  const managerId = stored?.manager?.managerId
  const engine = createEngineClient(config.dockerHost)
  await engine.negotiate()
  const failures: string[] = []
  const tryTo = async (what: string, act: () => Promise<unknown>) => {
    try {
      await act()
    } catch (error) {
      if (isMissing(error)) return
      failures.push(what)
      tell(`${what} stays: ${engineMessage(error)}`)
    }
  }
  // An agent that has none of its containers here may have lost the engine to another one, also to one of the same manager.
  const claim = await readClaim(engine, config.claimVolume)
  const isTaken = claim !== undefined && claim.agentId !== stored?.agentId
  if (managerId !== undefined && !(isTaken && claim.managerId === managerId)) await removeOwn(engine, managerId, tryTo)
  if (!isTaken) await tryTo('the claim', () => engine.calls.getVolume(config.claimVolume).remove())
  if (isTaken || (await hasOthers(engine, managerId))) {
    tell('Firewall, toolbox and images stay: another agent uses this Docker Engine.')
  } else {
    await removeShared(engine, { ...config, iptables }, tryTo)
  }
  if (failures.length > 0) throw new AppError('unavailable', { why: `Not removed: ${failures.join(', ')}.` })
}

type TryTo = (what: string, act: () => Promise<unknown>) => Promise<void>

/** Removes ended containers, networks and volumes of this manager's sessions. */
async function removeOwn({ calls }: EngineClient, managerId: string, tryTo: TryTo): Promise<void> {
  const filters = { label: [`${LABEL_MANAGER}=${managerId}`] }
  const containers = await calls.listContainers({ all: true, filters })
  const running = containers.filter(({ State }) => State === 'running' || State === 'paused')
  if (running.length > 0)
    throw new AppError('unavailable', { why: `Sessions still run on this host: ${running.length} containers.` })
  for (const { Id } of containers)
    await tryTo(`container ${Id.slice(0, 12)}`, () => calls.getContainer(Id).remove({ v: true }))
  for (const { Id, Name } of await calls.listNetworks({ filters }))
    await tryTo(`network ${Name}`, () => calls.getNetwork(Id).remove())
  const { Volumes } = await calls.listVolumes({ filters })
  for (const { Name } of Volumes) await tryTo(`volume ${Name}`, () => calls.getVolume(Name).remove())
}

/** Whether anything of sessions of another manager is on the engine. */
async function hasOthers({ calls }: EngineClient, managerId: string | undefined): Promise<boolean> {
  const filters = { label: [LABEL_MANAGER] }
  const isOther = ({ Labels }: { Labels?: Readonly<Record<string, string>> | null | undefined }) =>
    Labels?.[LABEL_MANAGER] !== undefined && Labels[LABEL_MANAGER] !== managerId
  const [containers, networks, { Volumes }] = await Promise.all([
    calls.listContainers({ all: true, filters }),
    calls.listNetworks({ filters }),
    calls.listVolumes({ filters }),
  ])
  return [...containers, ...networks, ...Volumes].some(isOther)
}

async function removeShared(
  { calls }: EngineClient,
  { iptables, networkRange, leave }: Pick<Config, 'networkRange' | 'leave'> & { readonly iptables: Iptables },
  tryTo: TryTo,
): Promise<void> {
  await tryTo('the firewall', () => removeChains(iptables, networkRange))
  const { Volumes } = await calls.listVolumes({ filters: { label: [LABEL_TOOLBOX] } })
  for (const { Name } of Volumes) await tryTo(`volume ${Name}`, () => calls.getVolume(Name).remove())
  if (leave !== 'images') return
  for (const image of await calls.listImages()) {
    const tags = tagsOf(image)
    const labels = (image.Labels as Record<string, string> | null) ?? {}
    const isOurs =
      Object.keys(labels).some(label => label.startsWith('berth.')) ||
      tags.some(tag => tag.startsWith(`${TOOLBOX_REPOSITORY}:`))
    for (const tag of isOurs ? tags : []) await tryTo(`image ${tag}`, () => calls.getImage(tag).remove())
  }
}

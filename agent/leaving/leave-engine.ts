import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { LABEL_MANAGER } from '#agent/contract'
import { AppError } from '#manager/contract'
import { type Config } from '../config.ts'
import { lockDirectory } from '../directory-lock.ts'
import { createEngineClient, type EngineClient, engineMessage, isMissing } from '../docker/engine-client.ts'
import { tagsOf, TOOLBOX_REPOSITORY } from '../images/image-labels.ts'
import { LABEL_TOOLBOX } from '../toolbox/toolbox.ts'
import { removeChains } from '../network/remove-chains.ts'
import { hostIptables } from '../network/iptables.ts'

const Stored = z.object({ agentId: z.string(), manager: z.object({ managerId: z.string() }).optional() })

/**
 * Removes what Berth has on this engine and in the firewall of this host, for an agent that will not run again. A container of a session
 * that still runs stops it. What other agents on this engine also use stays while there are any: firewall, toolbox and images.
 *
 * @param tell gets a line for each thing that stays, and why
 * @throws AppError `data_dir_locked` while the agent runs, `unavailable` if something could not be removed
 */
export async function leaveEngine(config: Config, tell: (line: string) => void): Promise<void> {
  await using _lock = await lockDirectory(config.directory)
  const text = await readFile(join(config.directory, 'agent.json'), 'utf8').catch(() => '')
  const managerId = Stored.safeParse(parseJson(text)).data?.manager?.managerId
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
  if (managerId !== undefined) await removeOwn(engine, managerId, tryTo)
  await tryTo('the claim', () => engine.calls.getVolume(config.claimVolume).remove())
  if (await hasOthers(engine, managerId)) {
    tell('Firewall, toolbox and images stay: another agent uses this Docker Engine.')
  } else {
    await removeShared(engine, config, tryTo)
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

/** Whether sessions of another manager, or another agent's claim, are on the engine. */
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

async function removeShared({ calls }: EngineClient, config: Config, tryTo: TryTo): Promise<void> {
  await tryTo('the firewall', () => removeChains(hostIptables(), config.networkRange))
  const { Volumes } = await calls.listVolumes({ filters: { label: [LABEL_TOOLBOX] } })
  for (const { Name } of Volumes) await tryTo(`volume ${Name}`, () => calls.getVolume(Name).remove())
  if (config.leave !== 'images') return
  for (const image of await calls.listImages()) {
    const tags = tagsOf(image)
    const labels = (image.Labels as Record<string, string> | null) ?? {}
    const isOurs =
      Object.keys(labels).some(label => label.startsWith('berth.')) ||
      tags.some(tag => tag.startsWith(`${TOOLBOX_REPOSITORY}:`))
    for (const tag of isOurs ? tags : []) await tryTo(`image ${tag}`, () => calls.getImage(tag).remove())
  }
}

import { randomUUID } from 'node:crypto'
import { type ContainerCreateOptions } from 'dockerode'
import { AppError, because, type Because } from '#manager/contract'
import { NO_NEW_PRIVILEGES, TOOLBOX } from '../docker/container-config.ts'
import { type EngineClient, engineMessage, isMissing, statusOf } from '../docker/engine-client.ts'
import { removeContainer } from '../docker/remove-container.ts'
import { type SessionNetworks } from '../network/session-networks.ts'
import { type Toolbox } from '../toolbox/toolbox.ts'
import { createProvenFault, hasCause, type ProvenFault } from './proven-fault.ts'

const NAME = 'berth-start-test'
const MEMORY = 64 * 2 ** 20
const SUSPECT = hasCause('docker_not_started', 'docker_says')

export interface TestStartsDeps {
  readonly engine: EngineClient
  readonly networks: Pick<SessionNetworks, 'create' | 'remove'>
  readonly toolbox: Pick<Toolbox, 'volume'>
  /** Image of the toolbox, which starts on every host that starts anything. */
  readonly image: string
  /** The manager whose sessions start here; undefined before the first welcome. */
  readonly manager: () => string | undefined
  readonly onChange: () => void
}

/**
 * An engine that starts no container at all: its runtime, its firewall, its storage or its control groups are broken. The engine says
 * so in words that an image or a request brings about too. So after a start that it refused, the agent starts a container of its
 * own, built like a session's but with nothing of a user in it, and with a network of its own.
 */
export function createTestStarts({ engine, networks, toolbox, image, manager, onChange }: TestStartsDeps): ProvenFault {
  async function find(): Promise<Because | null> {
    const managerId = manager()
    if (managerId === undefined) return null
    const volume = await toolbox.volume()
    const key = randomUUID()
    try {
      const { name } = await networks.create({ kernelId: key, sessionId: key }, managerId)
      return await refusalOf(testContainer({ image, volume, network: name }))
    } finally {
      await networks.remove(key, managerId, () => false)
    }
  }

  /** @throws where the engine does not answer, or the network was swept away */
  async function refusalOf(config: ContainerCreateOptions): Promise<Because | null> {
    // Left by an agent that was killed. Removed by name: an image of a session could carry the same label.
    await removeContainer(engine, NAME)
    try {
      const container = await engine.calls.createContainer(config)
      await container.start()
      return null
    } catch (error) {
      if (statusOf(error) === undefined || isMissing(error)) throw error
      return because('agent_starts_nothing', { text: engineMessage(error) })
    } finally {
      await removeContainer(engine, NAME)
    }
  }

  return createProvenFault({
    isSuspect: error => error.code === 'kernel_create_failed' && SUSPECT(error),
    find,
    inWordsForOwners: cause => new AppError('kernel_create_failed', because('host_starts_nothing'), { cause }),
    onChange,
  })
}

/** @param plan `volume` of the toolbox, name of the `network` */
function testContainer({ image, volume, network }: Record<'image' | 'volume' | 'network', string>) {
  return {
    name: NAME,
    Image: image,
    User: '65534:65534',
    WorkingDir: '/',
    Entrypoint: [],
    Cmd: [`${TOOLBOX}/bin/busybox`, 'true'],
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      NanoCpus: 1_000_000_000,
      Memory: MEMORY,
      MemorySwap: MEMORY,
      PidsLimit: 64,
      Init: true,
      SecurityOpt: [NO_NEW_PRIVILEGES],
      CapDrop: ['ALL'],
      IpcMode: 'private',
      NetworkMode: network,
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'none', Config: {} },
      Mounts: [{ Type: 'volume', Source: volume, Target: TOOLBOX, ReadOnly: true }],
    },
  } satisfies ContainerCreateOptions
}

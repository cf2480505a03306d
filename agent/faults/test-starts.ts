import { randomUUID } from 'node:crypto'
import { type ContainerCreateOptions } from 'dockerode'
import { createKeyedMutex } from '#base/mutex'
import { AppError, because, type Because } from '#manager/contract'
import { NO_NEW_PRIVILEGES, TOOLBOX } from '../docker/container-config.ts'
import { type EngineClient, engineMessage, isMissing, statusOf } from '../docker/engine-client.ts'
import { gpuOptions, type GpuRequest, NO_GPUS } from '../docker/gpu-request.ts'
import { removeContainer } from '../docker/remove-container.ts'
import { type SessionNetworks } from '../network/session-networks.ts'
import { type Toolbox } from '../toolbox/toolbox.ts'
import { hasCause } from '../has-cause.ts'
import { createProvenFault, type ProvenFault } from './proven-fault.ts'

const NAME = 'berth-start-test'
const MEMORY = 64 * 2 ** 20
const SUSPECT = hasCause('docker_not_started', 'docker_says')

/** Settings of the container of a test start. */
export interface TestPlan {
  /** Name of a network; if left out, the container has none. */
  readonly network?: string
  readonly gpus?: GpuRequest
}

/**
 * Starts a test container, configured like a session's but without any user data, and removes it.
 *
 * @returns the engine's error message; null if the container started
 * @throws if the engine does not answer, or the network is gone
 */
export type TestStart = (plan: TestPlan) => Promise<string | null>

export interface TestStartDeps {
  readonly engine: EngineClient
  readonly toolbox: Pick<Toolbox, 'volume'>
  /** Image of the toolbox, which starts on every host that can start containers. */
  readonly image: string
}

export function createTestStart({ engine, toolbox, image }: TestStartDeps): TestStart {
  // All test containers have one name, so that the container of a killed agent is found: an image of a session could carry the same label.
  const inTurn = createKeyedMutex()

  async function test(plan: TestPlan): Promise<string | null> {
    const config = testContainer(image, await toolbox.volume(), plan)
    await removeContainer(engine, NAME)
    try {
      const container = await engine.calls.createContainer(config)
      await container.start()
      return null
    } catch (error) {
      if (statusOf(error) === undefined || isMissing(error)) throw error
      return engineMessage(error)
    } finally {
      await removeContainer(engine, NAME)
    }
  }

  return plan => inTurn(NAME, () => test(plan))
}

export interface TestStartsDeps {
  readonly testStart: TestStart
  readonly networks: Pick<SessionNetworks, 'create' | 'remove'>
  /** The manager whose sessions start here; undefined before the first welcome. */
  readonly manager: () => string | undefined
  readonly onChange: () => void
}

/**
 * Detects that the engine starts no container at all, because its runtime, firewall, storage or control groups are broken. An image or a
 * request can cause the same messages, so after a refused start the agent tests the engine with a container and network of its own.
 */
export function createTestStarts({ testStart, networks, manager, onChange }: TestStartsDeps): ProvenFault {
  async function find(): Promise<Because | null> {
    const managerId = manager()
    if (managerId === undefined) return null
    const key = randomUUID()
    try {
      const { name } = await networks.create({ kernelId: key, sessionId: key }, managerId)
      const text = await testStart({ network: name })
      return text === null ? null : because('agent_starts_nothing', { text })
    } finally {
      await networks.remove(key, managerId, () => false)
    }
  }

  return createProvenFault({
    isSuspect: error => error.code === 'kernel_create_failed' && SUSPECT(error),
    find,
    inWordsForOwners: cause => new AppError('kernel_create_failed', because('host_starts_nothing'), { cause }),
    onChange,
  })
}

function testContainer(image: string, volume: string, { network = 'none', gpus = NO_GPUS }: TestPlan) {
  return {
    name: NAME,
    Image: image,
    User: '65534:65534',
    WorkingDir: '/',
    Entrypoint: [],
    Cmd: [`${TOOLBOX}/bin/busybox`, 'true'],
    Env: Object.entries(gpus.environment).map(([name, value]) => `${name}=${value}`),
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
      ...gpuOptions(gpus),
    },
  } satisfies ContainerCreateOptions
}

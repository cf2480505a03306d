import { type Driver } from './driver.ts'
import { type Engine } from './engine.ts'
import { type OwnBerth, type Session } from './own-berth.ts'
import { saw, type Seen, type Table, until } from './table.ts'

/** The GPU that is checked: the first one of the machine. */
export interface Gpu {
  readonly uuid: string
  readonly totalMib: number
  /** Memory in use before the check. */
  readonly restMib: number
  readonly mig: string
}

/** Everything that the rows use. */
export interface Check {
  readonly table: Table
  readonly berth: OwnBerth
  readonly engine: Engine
  readonly driver: Driver
  readonly image: string
  readonly gpu: Gpu
}

export const MiB = 2 ** 20
export const GiB = 2 ** 30
export const gibText = (bytes: number | null | undefined): string =>
  bytes === null || bytes === undefined ? 'unknown' : `${(bytes / GiB).toFixed(1)} GiB`
export const percentText = (percent: number | null | undefined): string =>
  percent === null || percent === undefined ? 'unknown' : `${percent} %`

const ENDED = ['TERMINATED', 'CANCELLED', 'ERROR', 'FAILED']

/** Launches a session and waits until it runs. */
export async function launch(
  { berth, image }: Check,
  signal: AbortSignal,
  name: string,
  ...gpu: string[]
): Promise<Seen> {
  const size = ['--cpu', '0.5', '--mem', '3g']
  const { code, stdout, stderr } = await berth.run(
    signal,
    ...['session', 'create', '--image', image, '--name', name, ...size, ...gpu, '--wait'],
  )
  return saw(code === 0 && /RUNNING/.test(stdout), code === 0 ? stdout : stderr)
}

/** A session that asks for more than is free waits, and says for what; it is cancelled afterwards. */
export async function waits(
  { berth, image }: Check,
  signal: AbortSignal,
  name: string,
  ...gpu: string[]
): Promise<Seen> {
  await berth.json(
    signal,
    'session',
    'create',
    '--image',
    image,
    '--name',
    name,
    '--cpu',
    '0.5',
    '--mem',
    '256m',
    ...gpu,
  )
  try {
    return await until(
      async () => {
        const { status, reason } = await berth.session(signal, name)
        return saw(
          status === 'PENDING' && reason.code !== 'requested' && /GPU/.test(reason.message),
          `${status}: ${reason.message}`,
        )
      },
      signal,
      10,
    )
  } finally {
    await berth.run(signal, 'session', 'rm', name)
  }
}

/** Ends sessions, and waits until nothing of them is left: no container, no share held, no memory. */
export async function endAndFree(
  { berth, engine, driver, gpu }: Check,
  signal: AbortSignal,
  ...names: string[]
): Promise<Seen> {
  const alive: string[] = []
  for (const name of names) {
    const session = await berth.session(signal, name).catch(() => undefined)
    if (session && !hasEnded(session)) alive.push(name)
  }
  if (alive.length > 0) await berth.run(signal, 'session', 'rm', ...alive)
  return await until(
    async () => {
      const [device] = (await berth.devices(signal)).filter(({ uuid }) => uuid === gpu.uuid)
      const containers = await engine.containersOf(berth.managerId() ?? '', signal)
      const [used = ''] = await driver.query(signal, 'memory.used')
      const text = `held ${device?.occupied}, ${containers.length} containers, ${used} MiB in use`
      return saw(device?.occupied === '0' && containers.length === 0 && Number(used) <= gpu.restMib + 64, text)
    },
    signal,
    25,
  )
}

export const hasEnded = ({ status }: Session): boolean => ENDED.includes(status)

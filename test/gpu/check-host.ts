import { type Engine } from './engine.ts'
import { AGENT } from './own-berth.ts'
import { type Check, gibText, MiB } from './check.ts'
import { saw, until } from './table.ts'

interface EngineInfo {
  readonly CDISpecDirs?: readonly string[] | null
  readonly DiscoveredDevices?: readonly { readonly ID: string }[] | null
  readonly Runtimes?: Readonly<Record<string, unknown>>
}

/** How the engine names its version, for the head of the report. */
export async function engineFacts(engine: Engine, signal: AbortSignal): Promise<string> {
  const version = (await engine.get('/version', signal)) as { Version: string; ApiVersion: string }
  const info = (await engine.get('/info', signal)) as { CgroupVersion?: string; Driver?: string }
  return `Docker ${version.Version}, API ${version.ApiVersion}, control groups v${info.CgroupVersion ?? '1'}, ${info.Driver}`
}

/** The GPU as the engine and Berth find it. */
export async function checkHost({ table, berth, engine, gpu }: Check): Promise<void> {
  await table.row('engine hands out GPUs', 'by CDI with this UUID, or by NVIDIA’s runtime', 10, async signal => {
    const { CDISpecDirs, DiscoveredDevices, Runtimes } = (await engine.get('/info', signal)) as EngineInfo
    const names = DiscoveredDevices?.map(({ ID }) => ID) ?? []
    const byUuid = names.includes(`nvidia.com/gpu=${gpu.uuid}`)
    const way = byUuid
      ? 'CDI, by UUID'
      : names.length > 0
        ? `CDI, by number: ${names.join(', ')}`
        : CDISpecDirs?.length
          ? `CDI, devices not listed by this engine (${CDISpecDirs.join(', ')})`
          : Object.hasOwn(Runtimes ?? {}, 'nvidia')
            ? 'runtime of NVIDIA'
            : 'not by CDI and without a runtime of NVIDIA'
    return saw(!way.startsWith('not'), way)
  })
  await table.row('berth doctor: GPU', 'ok', 40, async signal => {
    const { stdout } = await berth.run(signal, 'doctor', '--json')
    const { checks } = JSON.parse(stdout) as { checks: { nameBy?: string; level: string; says: string }[] }
    const found = checks.find(({ nameBy }) => nameBy === 'check_gpu')
    return saw(found?.level === 'ok', `${found?.level}: ${found?.says}`)
  })
  await table.row('sign in', 'signed in', 15, async signal => saw(true, await berth.signIn(signal)))
  await table.row('agent', 'connected, networks isolated, no problem', 20, signal =>
    until(
      async () => {
        const agents = (await berth.json(signal, 'admin', 'agent', 'ls')) as {
          name: string
          status: string
          networkIsolation: string
          problem: string | null
        }[]
        const own = agents.find(({ name }) => name === AGENT)
        return saw(
          own?.status === 'CONNECTED' && own.networkIsolation === 'full' && own.problem === null,
          `${own?.status}, ${own?.networkIsolation}, ${own?.problem ?? 'ok'}`,
        )
      },
      signal,
      15,
    ),
  )
  await table.row('device', `whole, ${gpu.totalMib} MiB, no problem`, 15, async signal => {
    const device = (await berth.devices(signal)).find(({ uuid }) => uuid === gpu.uuid)
    const ok =
      device?.mode === 'whole' &&
      device.isolation === 'whole' &&
      device.memBytes === gpu.totalMib * MiB &&
      device.problem === null
    const state = device
      ? `${device.model}, ${device.mode}, ${gibText(device.memBytes)}, ${device.problem ?? 'ok'}`
      : 'none'
    return saw(ok, state)
  })
}

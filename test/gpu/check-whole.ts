import { type Check, endAndFree, GiB, gibText, launch, percentText, waits } from './check.ts'
import { ALL_RECORDS, processRecords } from './driver.ts'
import { saw, Skipped, until } from './table.ts'
import { noWork, pyTorch, type Work } from './work.ts'

const NAME = 'gpu-whole'
const WITHOUT = 'gpu-none'
const LISTING = 'ls -d /dev/nvidia* 2>/dev/null || echo none'

/**
 * A whole GPU for one session.
 *
 * @param by programs that use the GPU, or the Python of the image that may have PyTorch
 */
export async function checkWhole(check: Check, by: Work | string): Promise<Work> {
  const { table } = check
  const ran = await table.row('session with the GPU', 'RUNNING', 60, signal =>
    launch(check, signal, NAME, '--gpu', '1'),
  )
  if (ran) await checkInside(check)
  await table.row('second request for a GPU', 'waits; the reason names the GPU', 30, signal =>
    waits(check, signal, 'gpu-second', '--gpu', '1'),
  )
  await checkWithout(check)
  const work = typeof by === 'string' ? await findPyTorch(check, by) : by
  if (ran) {
    await checkWork(check, work)
    await checkRestarts(check)
  }
  await table.row('both ended', 'nothing held, no container, memory free', 60, signal =>
    endAndFree(check, signal, NAME, WITHOUT),
  )
  return work
}

async function checkWithout(check: Check): Promise<void> {
  const { table, berth } = check
  const ran = await table.row('session without a GPU', 'RUNNING', 60, signal => launch(check, signal, WITHOUT))
  if (!ran) return
  await table.row('in it: devices', 'none', 15, async signal => {
    const text = await berth.inside(signal, WITHOUT, 'sh', '-c', LISTING)
    return saw(text === 'none', text)
  })
}

async function findPyTorch({ table, berth }: Check, python: string): Promise<Work> {
  let work = noWork(python, 'no PyTorch')
  await table.row('PyTorch in the image', 'its version; it sees the GPU', 60, async signal => {
    const command = [python, '-c', 'import torch; print(torch.__version__, torch.cuda.get_device_name(0))']
    const version = await berth.inside(signal, NAME, ...command).catch((error: unknown) => table.log(String(error)))
    if (version === undefined) throw new Skipped('no PyTorch')
    work = pyTorch(python, version.split(' ')[0] ?? '')
    return saw(true, version)
  })
  return work
}

async function checkWork({ table, berth, gpu, driver }: Check, work: Work): Promise<void> {
  await table.row(
    `a program with 20 GiB (${work.by})`,
    'session and device: 20 GiB or more, at work',
    60,
    async signal => {
      const working = work.start(berth, NAME, { gibibytes: 20, computes: true }, signal)
      await working.begun
      const seen = await until(
        async () => {
          const figures = await berth.figures(signal, NAME)
          const device = (await berth.devices(signal)).find(({ uuid }) => uuid === gpu.uuid)
          const isAtWork = (memory = 0, percent = 0) => memory >= 20 * GiB && percent >= work.leastPercent
          const ok =
            isAtWork(figures?.memBytes ?? 0, figures?.utilization ?? 0) &&
            isAtWork(device?.memUsedBytes ?? 0, device?.utilization ?? 0)
          const session = `session ${gibText(figures?.memBytes)}, ${percentText(figures?.utilization)}`
          return saw(ok, `${session}; device ${gibText(device?.memUsedBytes)}, ${percentText(device?.utilization)}`)
        },
        signal,
        12,
      )
      await driver.record(
        'one session at work on the whole GPU',
        [...processRecords(gpu.uuid), ...HEALTH_AT_WORK],
        signal,
      )
      working.stop()
      return { ...seen, seen: `${seen.seen}; ${await working.ended}` }
    },
  )
}

/** Commands about health, the answers to which differ while a GPU works. */
const HEALTH_AT_WORK = ALL_RECORDS.filter(([first = '']) => /reasons|temperature/.test(first))

async function checkInside({ table, berth, gpu }: Check): Promise<void> {
  await table.row('in it: nvidia-smi -L', gpu.uuid, 20, async signal => {
    const text = await berth.inside(signal, NAME, 'nvidia-smi', '-L')
    return saw((text.match(/GPU-[\w-]+/g) ?? []).join() === gpu.uuid, text)
  })
  await table.row('in it: user', 'not root, no capabilities', 15, async signal => {
    const text = await berth.inside(signal, NAME, 'sh', '-c', 'id -u; grep -E "CapEff|NoNewPrivs" /proc/self/status')
    const [user = '0'] = text.split('\n')
    return saw(user !== '0' && /CapEff:\s*0+$/m.test(text) && /NoNewPrivs:\s*1/.test(text), `uid ${text}`)
  })
  await table.row('in it: device nodes', 'one GPU', 15, async signal => {
    const text = await berth.inside(signal, NAME, 'sh', '-c', LISTING)
    return saw((text.match(/\/dev\/nvidia\d+/g) ?? []).length === 1, text)
  })
}

/** Agent and Berth end and start again while the session has its GPU. */
async function checkRestarts({ table, berth, gpu }: Check): Promise<void> {
  const keeps = async (signal: AbortSignal, container: string | null | undefined) =>
    await until(
      async () => {
        const { status, kernels } = await berth.session(signal, NAME)
        const inside = await berth.inside(signal, NAME, 'nvidia-smi', '-L').catch(String)
        const ok = status === 'RUNNING' && kernels[0]?.containerId === container && inside.includes(gpu.uuid)
        return saw(ok, `${status}, ${inside}`)
      },
      signal,
      40,
    )
  const containerOf = async (signal: AbortSignal) => (await berth.session(signal, NAME)).kernels[0]?.containerId

  await table.row('agent killed', 'started again; the session keeps its GPU', 60, async signal => {
    const container = await containerOf(signal)
    const before = berth.pidOf('agent')
    if (before === undefined) return saw(false, 'no process of an agent')
    process.kill(before, 'SIGKILL')
    return await until(
      async () => {
        const now = berth.pidOf('agent')
        if (now === undefined || now === before) return saw(false, 'the agent did not start again')
        return await keeps(signal, container)
      },
      signal,
      50,
    )
  })
  await table.row('Berth ended and started', 'the session keeps its GPU', 90, async signal => {
    const container = await containerOf(signal)
    await berth.down()
    await berth.up(signal)
    // Another port: the earlier sign-in names the old address.
    await berth.signIn(signal)
    return await keeps(signal, container)
  })
}

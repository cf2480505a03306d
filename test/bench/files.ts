import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { type ApiClient, fileContentAddress, type FilePage, type FolderId } from '#manager/contract'
import { apiOf, temporaryDirectory } from '../fixtures/manager.ts'
import { benchFileLoad } from './file-load.ts'
import { median, round } from './statistics.ts'

const run = promisify(execFile)
const MIB = 2 ** 20
const ENTRIES = Number(process.env.BERTH_BENCH_FILES ?? 1_000_000)
const SIZE_MIB = Number(process.env.BERTH_BENCH_FILES_MIB ?? 1024)
const ROUNDS = 3
/** Collects garbage on SIGUSR2. */
const COLLECTOR = pathToFileURL(join(import.meta.dirname, 'collect-garbage.mjs')).href
/** Options of Node for the manager, e.g. to profile it. */
const MANAGER_OPTIONS = (process.env.BERTH_BENCH_NODE ?? '').split(' ').filter(option => option !== '')
export const PASSWORD = 'Correct-horse-1'

/**
 * Files of folders through a manager of its own process: the listing of a directory with a million entries, with the memory
 * that it takes, and the download of 1 GiB with curl next to `cat` through a pipe. Needs a million inodes where temporary files
 * are.
 */
export async function benchFiles(stack: AsyncDisposableStack) {
  const dataDir = stack.use(await temporaryDirectory()).path
  const { url, rssMib, liveMib, cpuSeconds } = await startManagerProcess(stack, dataDir)
  const { token } = await apiOf(url).login({ body: { email: 'admin@localhost', password: PASSWORD, kind: 'token' } })
  const api = apiOf(url, token ?? '')
  const { id } = await api.createFolder({ body: { name: 'bench' } })
  const directory = join(dataDir, 'storage/folders', id)

  const listing = await benchListing({ api, id, directory, rssMib, liveMib })
  await run('sh', ['-c', `head -c ${SIZE_MIB * MIB} /dev/urandom > large`], { cwd: directory })
  const address = url + fileContentAddress(id, 'large')
  const ours: number[] = []
  const plain: number[] = []
  const cpuBefore = await cpuSeconds()
  for (let round_ = 0; round_ < ROUNDS; round_++) {
    plain.push(await mbPerSecond('cat large | cat > /dev/null', directory))
    ours.push(
      await mbPerSecond(`curl -sf -o /dev/null -H "authorization: Bearer ${token ?? ''}" '${address}'`, directory),
    )
  }
  const cpu = ((await cpuSeconds()) - cpuBefore) / ROUNDS
  const load = await benchFileLoad({ url, token: token ?? '', id, directory })
  return {
    files: {
      ...listing,
      downloadMib: SIZE_MIB,
      downloadMbPerSecond: round(median(ours), 0),
      catMbPerSecond: round(median(plain), 0),
      ratio: round(median(ours) / median(plain), 2),
      managerCpuSecondsPerDownload: round(cpu, 2),
      othersMeanwhile: load,
    },
  }
}

interface ListingDeps {
  readonly api: ApiClient
  readonly id: FolderId
  readonly directory: string
  readonly rssMib: () => Promise<number>
  /** Heap in use after a garbage collection. */
  readonly liveMib: () => Promise<number>
}

/** Pages between two collections: V8 accumulates hundreds of MiB of garbage before it collects on its own. */
const PAGES_PER_COLLECTION = 100

async function benchListing({ api, id, directory, rssMib, liveMib }: ListingDeps) {
  await mkdir(join(directory, 'many'))
  await run('sh', ['-c', `seq ${ENTRIES} | xargs touch`], { cwd: join(directory, 'many') })
  const list = (more: Record<string, string>): Promise<FilePage> =>
    api.listFiles({ params: { id }, query: { path: 'many', ...more } })
  await list({})
  const [before, liveBefore] = [await rssMib(), await liveMib()]
  const first: number[] = []
  for (let n = 0; n < 10; n++) {
    const start = performance.now()
    await list({})
    first.push(performance.now() - start)
  }
  const start = performance.now()
  let shown = 0
  let most = 0
  let mostLive = 0
  let pages = 0
  for (let after: string | null = ''; after !== null;) {
    const page: FilePage = await list({ limit: '1000', ...(after === '' ? {} : { after }) })
    shown += page.items.length
    after = page.next
    most = Math.max(most, await rssMib())
    if (++pages % PAGES_PER_COLLECTION === 0) mostLive = Math.max(mostLive, await liveMib())
  }
  return {
    entries: shown,
    firstPageMs: round(median(first), 1),
    slowestFirstPageMs: round(Math.max(...first), 1),
    allPagesSeconds: round((performance.now() - start) / 1000, 1),
    rssMib: round(before, 0),
    rssGrowthMib: round(most - before, 0),
    // Constant, whatever the number of entries: the rest of the growth is garbage that V8 has not collected yet.
    liveGrowthMib: round(mostLive - liveBefore, 0),
  }
}

async function mbPerSecond(command: string, cwd: string): Promise<number> {
  const start = performance.now()
  await run('sh', ['-c', command], { cwd })
  return (SIZE_MIB * MIB) / 1e6 / ((performance.now() - start) / 1000)
}

export async function startManagerProcess(stack: AsyncDisposableStack, dataDir: string) {
  const heapFile = join(dataDir, 'heap-in-use')
  const child = spawn(process.execPath, [...MANAGER_OPTIONS, `--import=${COLLECTOR}`, 'manager/main.ts'], {
    env: {
      ...process.env,
      BERTH_DATA: dataDir,
      BERTH_ADMIN_PASSWORD: PASSWORD,
      BERTH_LOG: 'error',
      DATABASE_URL: '',
      BERTH_BENCH_HEAP: heapFile,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  stack.defer(async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { url } = JSON.parse(line) as { url: string }
  const status = () => readFile(`/proc/${child.pid}/status`, 'utf8')
  const rssMib = async () => Number(/VmRSS:\s+(\d+)/.exec(await status())?.[1]) / 1024
  return {
    url,
    rssMib,
    async liveMib() {
      await rm(heapFile, { force: true })
      child.kill('SIGUSR2')
      for (;;) {
        const text = await readFile(heapFile, 'utf8').catch(() => '')
        if (text !== '') return Number(text) / MIB
        await delay(50)
      }
    },
    cpuSeconds: async () => {
      const fields = (await readFile(`/proc/${child.pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? []
      return (Number(fields[11]) + Number(fields[12])) / 100
    },
  }
}

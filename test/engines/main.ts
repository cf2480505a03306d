import { execFile, spawn } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { startEngine } from '../fixtures/docker-engine.ts'
import { PYTHON_IMAGE, TINY_IMAGE, TOOLBOX_IMAGE } from '../fixtures/images.ts'
import { temporaryDirectory } from '../fixtures/manager.ts'
import { engineKit, type EngineVersion, VERSIONS } from './kit.ts'

/**
 * `npm run test:engines`: the engine tests on each supported Docker Engine of Debian's packages, and the check of GPUs with a stand-in of the driver. Root; the machine needs an
 * engine with the images (`npm start`), and a Debian mirror for kits that are not made yet. The tests run in the network of
 * their engine, with the programs of its kit.
 */
const HELP = `npm run test:engines [-- --engine 20|26|28] [-- FILES and flags of vitest]

  --engine VERSION     only this Docker Engine (may be repeated); default: ${VERSIONS.join(', ')}
`

/** Images of the machine's engine that tests use, besides those that they create. */
const BY_NAME = ['berth/toolbox:latest', 'berth/busybox:test', 'debian:trixie-slim']
const IMAGES = [TOOLBOX_IMAGE, PYTHON_IMAGE, TINY_IMAGE, ...BY_NAME]

const run = promisify(execFile)

const { values, positionals } = parseArgs({
  options: { engine: { type: 'string', multiple: true }, help: { type: 'boolean' } },
  allowPositionals: true,
  strict: true,
})
if (values.help) process.stdout.write(HELP)
else process.exitCode = await runAll(values.engine ?? VERSIONS, positionals)

function isVersion(text: string): text is EngineVersion {
  return VERSIONS.some(version => version === text)
}

async function runAll(versions: readonly string[], args: readonly string[]): Promise<number> {
  const unknown = versions.find(version => !isVersion(version))
  if (unknown !== undefined) throw new Error(`no engine ${unknown}: ${VERSIONS.join(', ')}`)
  const outcomes: string[] = []
  for (const version of versions.filter(isVersion)) {
    const code = await runOn(version, args)
    outcomes.push(`Docker ${version}: ${code === 0 ? 'passed' : `failed (${code})`}`)
  }
  process.stdout.write(`\n${outcomes.join('\n')}\n`)
  return outcomes.every(outcome => outcome.endsWith('passed')) ? 0 : 1
}

/** @returns the exit code of vitest; the engine ends in any case, also by Ctrl-C, which reaches vitest first */
async function runOn(version: EngineVersion, args: readonly string[]): Promise<number> {
  const cache = process.env.BERTH_ENGINE_KITS ?? join(homedir(), '.cache/berth-engine-kits')
  await mkdir(cache, { recursive: true })
  const kit = await engineKit(version, cache)
  const images = await presentImages()
  process.stdout.write(`\nDocker ${await readFile(join(kit, 'version'), 'utf8')} (${kit})\n`)
  const path = process.env.PATH ?? ''
  process.env.PATH = [join(kit, 'bin'), path].join(delimiter)
  const stay = () => undefined
  process.on('SIGINT', stay)
  try {
    await using specs = await temporaryDirectory()
    await using engine = await startEngine(settingsOf(version, specs.path))
    await engine.load(...images)
    const [command = '', ...words] = [...engine.prefix, process.execPath, 'test/engines/inside.ts', ...args]
    const tests = spawn(command, words, { stdio: 'inherit', env: { ...process.env, DOCKER_HOST: engine.host } })
    return await new Promise<number>(done => tests.once('exit', code => done(code ?? 1)))
  } finally {
    process.off('SIGINT', stay)
    process.env.PATH = path
  }
}

/** The images that the machine's engine has; a test without its image reports that itself. */
async function presentImages(): Promise<string[]> {
  const looks = [...new Set(IMAGES)].map(async image => {
    await run('docker', ['image', 'inspect', image])
    return image
  })
  return (await Promise.allSettled(looks)).flatMap(look => (look.status === 'fulfilled' ? [look.value] : []))
}

/** If an engine supports CDI, it is enabled, with its own files. */
function settingsOf(version: EngineVersion, specs: string): Record<string, unknown> {
  return version === '20' ? {} : { features: { cdi: true }, 'cdi-spec-dirs': [specs] }
}

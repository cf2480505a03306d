import { execFile } from 'node:child_process'
import { access, chmod, copyFile, cp, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Debian suites by the Docker Engine that each has. */
const SUITES = { '20': 'bookworm', '26': 'trixie', '28': 'forky' } as const
export type EngineVersion = keyof typeof SUITES
export const VERSIONS = Object.keys(SUITES) as EngineVersion[]

/** The suite of the oldest engine. Programs from its patchelf run; with that of later suites, containerd 1.7 crashes. */
const OLDEST = 'bookworm'
const PACKAGES = ['docker.io', 'containerd', 'runc', 'iptables', 'tini']
const PROGRAMS = ['docker', 'dockerd', 'docker-proxy', 'containerd', 'containerd-shim-runc-v2', 'runc']
const IPTABLES = ['iptables', 'iptables-restore', 'iptables-save', 'ip6tables', 'ip6tables-restore', 'ip6tables-save']
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

/**
 * A Docker Engine of Debian's packages as a folder whose `bin` goes in front of PATH, with libraries of its own. Nothing is installed: apt
 * works with lists and a status file in a temporary folder, and checks signatures as usual. The folder cannot be moved, because the
 * programs contain the paths of their libraries.
 *
 * @param cache earlier kits
 */
export async function engineKit(version: EngineVersion, cache: string): Promise<string> {
  const kit = join(cache, version)
  if (await exists(join(kit, 'version'))) return kit
  const work = await mkdtemp(join(tmpdir(), 'berth-engine-kit-'))
  try {
    const { root, found } = await fetchPackages(version, work)
    await rm(kit, { recursive: true, force: true })
    await mkdir(join(kit, 'bin'), { recursive: true })
    await mkdir(join(kit, 'lib'))
    await collect(root, kit)
    // The last file: an interrupted kit is made again.
    await writeFile(join(kit, 'version'), found)
    return kit
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Unpacks the packages of the engine and all their dependencies. @returns the folder, and the version in the suite */
async function fetchPackages(version: EngineVersion, work: string): Promise<{ root: string; found: string }> {
  const suite = SUITES[version]
  const [lists, archives, root] = [join(work, 'lists'), join(work, 'cache/archives'), join(work, 'root')]
  await Promise.all(
    [join(lists, 'partial'), join(archives, 'partial'), root].map(path => mkdir(path, { recursive: true })),
  )
  await Promise.all([work, lists, archives].map(path => chmod(path, 0o755)))
  const mirror = await debianMirror()
  const source = (name: string) => `deb [signed-by=${KEYRING}] ${mirror} ${name} main`
  await writeFile(join(work, 'sources.list'), [...new Set([suite, OLDEST])].map(source).join('\n') + '\n')
  await writeFile(join(work, 'status'), '')
  const settings = {
    'Dir::State': work,
    'Dir::State::lists': lists,
    'Dir::State::status': join(work, 'status'),
    'Dir::Cache': join(work, 'cache'),
    'Dir::Etc::sourcelist': join(work, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Etc::preferencesparts': '/dev/null',
    'APT::Default-Release': suite,
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '3',
    // Mirrors of unreleased suites may be weeks behind; signatures are still checked.
    'Acquire::Check-Valid-Until': 'false',
  }
  const options = ['-qq', ...Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])]
  const apt = (program: string, ...args: string[]) =>
    run(program, [...options, ...args], { cwd: work, maxBuffer: 2 ** 26 })
  await apt('apt-get', 'update')
  const found = /Candidate: (\S+)/.exec((await apt('apt-cache', 'policy', 'docker.io')).stdout)?.[1] ?? 'none'
  if (!found.startsWith(`${version}.`))
    throw new Error(`Debian ${suite} has docker.io ${found} now, not ${version}: change SUITES`)
  // From 26 on, the client is a package of its own.
  const client = await apt('apt-cache', 'show', 'docker-cli').then(
    () => ['docker-cli'],
    () => [],
  )
  const install = ['install', '-y', '--no-install-recommends', '--download-only', ...PACKAGES, ...client]
  await apt('apt-get', ...install)
  await apt('apt-get', 'download', `patchelf/${OLDEST}`)
  const packages = [archives, work].map(async folder => (await readdir(folder)).map(name => join(folder, name)))
  for (const file of (await Promise.all(packages)).flat().filter(name => name.endsWith('.deb'))) {
    await run('dpkg-deb', ['-x', file, root])
  }
  return { root, found }
}

/** Mirror of this system's own package sources. */
async function debianMirror(): Promise<string> {
  const { stdout } = await run('apt-get', ['indextargets', '--format', '$(REPO_URI)'])
  const mirror = process.env.BERTH_DEBIAN_MIRROR ?? stdout.split('\n').find(uri => /\/debian\/?$/.test(uri))
  if (mirror === undefined) throw new Error('apt has no mirror of Debian here: set BERTH_DEBIAN_MIRROR')
  return mirror
}

/** Copies programs and libraries, and makes the programs find these libraries. */
async function collect(root: string, kit: string): Promise<void> {
  const [bin, lib] = [join(kit, 'bin'), join(kit, 'lib')]
  const files = (
    await run('find', [root, '(', '-type', 'f', '-o', '-type', 'l', ')'], { maxBuffer: 2 ** 26 })
  ).stdout.split('\n')
  const program = (name: string) => {
    const path = files.find(file => basename(file) === name && /\/(s?bin|libexec\/docker|sbin)\//.test(file))
    if (path === undefined) throw new Error(`the packages have no program ${name}`)
    return path
  }
  for (const name of PROGRAMS) await copyFile(program(name), join(bin, name))
  await copyFile(program('tini-static'), join(bin, 'docker-init'))
  await copyFile(program('xtables-nft-multi'), join(bin, 'xtables-nft-multi'))
  const modules = files.find(file => file.endsWith('/xtables/libxt_conntrack.so'))
  if (modules === undefined) throw new Error('the packages have no modules of iptables')
  // Some modules are links to others.
  await cp(join(modules, '..'), join(lib, 'xtables'), { recursive: true, dereference: true })
  for (const name of IPTABLES) await writeFile(join(bin, name), iptablesScript(name), { mode: 0o755 })
  await linkAgainstKit(files, program('patchelf'), { bin, lib })
}

/** A script, because iptables dies when it loads modules of another version, and only a variable says where its own are. */
const iptablesScript = (name: string) =>
  `#!/bin/sh\nbin=\${0%/*}\nXTABLES_LIBDIR="$bin/../lib/xtables" exec "$bin/xtables-nft-multi" ${name} "$@"\n`

async function linkAgainstKit(
  files: readonly string[],
  patchelf: string,
  { bin, lib }: { bin: string; lib: string },
): Promise<void> {
  const loader = files.find(file => /\/ld-linux[^/]*\.so\.\d$/.test(file))
  if (loader === undefined) throw new Error('the packages have no loader')
  const ownLoader = join(lib, basename(loader))
  await copyFile(loader, ownLoader)
  await chmod(ownLoader, 0o755)
  const search = [...new Set(files.filter(file => /\.so(\.|$)/.test(file)).map(file => join(file, '..')))].join(':')
  const load = (...args: string[]) => run(loader, ['--library-path', search, ...args])
  const programs = (await readdir(bin)).map(name => join(bin, name))
  const modules = (await readdir(join(lib, 'xtables'))).map(name => join(lib, 'xtables', name))
  for (const file of [...programs, ...modules]) {
    const isModule = file.endsWith('.so')
    // Scripts and static programs name no interpreter.
    const isDynamic = isModule || (await load(patchelf, '--print-interpreter', file).then(succeeds, fails))
    if (!isDynamic) continue
    const { stdout } = await load('--list', file)
    for (const [, library = ''] of stdout.matchAll(/=> (\/\S+)/g)) await copyFile(library, join(lib, basename(library)))
    if (!isModule) {
      const copy = `${file}.new`
      await load(patchelf, '--force-rpath', '--set-interpreter', ownLoader, '--set-rpath', lib, '--output', copy, file)
      await rename(copy, file)
    }
  }
}

const succeeds = () => true
const fails = () => false
const exists = (path: string) => access(path).then(succeeds, fails)

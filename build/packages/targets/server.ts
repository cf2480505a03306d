import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { MANIFEST } from '../manifest.ts'
import { type PackageWork, type Target, TargetUnavailable } from '../target.ts'
import { writeTarGz } from '../tar-folder.ts'
import { DEB_SCRIPTS, RPM_SCRIPTS } from './server-scripts.ts'
import { addLauncher, UNITS, writeUnits } from './server-tree.ts'
import { type SystemProduct, systemTargets } from './system-targets.ts'

const NAME = 'berth-server'
const SUMMARY = 'Console, manager and agent for GPU container sessions'
const DESCRIPTION = 'Servers and command line of Berth with their own Node and PostgreSQL.'
const UNIT_FOLDER = '/usr/lib/systemd/system'

/** Makes the tree of the installed system package. */
async function systemTree({ runtime, stageDir }: PackageWork, packager: string): Promise<string> {
  if (process.platform !== 'linux') throw new TargetUnavailable('packages for Linux are made on Linux')
  const root = join(stageDir, `server-${packager}`)
  addLauncher(await runtime(), join(root, 'usr', 'lib', 'berth'))
  writeUnits(join(root, UNIT_FOLDER), '/usr/bin/berth')
  mkdirSync(join(root, 'usr', 'bin'), { recursive: true })
  symlinkSync('../lib/berth/berth', join(root, 'usr', 'bin', 'berth'))
  return root
}

/** berth-server as an archive: unpack it anywhere and call `berth` in it. */
export const serverTarTarget: Target = {
  name: 'server-tar',
  about: 'berth-server as .tar.gz, to be unpacked anywhere',
  async make(work) {
    const folder = join(work.stageDir, 'server-tar')
    addLauncher(await work.runtime(), folder)
    writeUnits(join(folder, 'systemd'), '/opt/berth/berth')
    const base = `${NAME}-${MANIFEST.version}`
    const file = join(work.outDir, `${base}-${process.platform}-${process.arch}.tar.gz`)
    await writeTarGz(folder, file, { prefix: base, seconds: work.seconds })
    return [file]
  },
}

/** berth-server for package managers, with systemd units. */
export const SERVER_PRODUCT: SystemProduct = {
  target: 'server',
  about: 'berth-server with systemd units,',
  async stage(work, packager) {
    return { name: NAME, summary: SUMMARY, description: DESCRIPTION, root: await systemTree(work, packager) }
  },
  deb: {
    section: 'admin',
    depends: ['libc6 (>= 2.28)', 'libgcc-s1', 'libstdc++6', 'passwd', 'ca-certificates', 'iptables'],
    recommends: ['docker.io | docker-ce', 'openssh-client'],
    scripts: DEB_SCRIPTS,
  },
  rpm: {
    requires: ['glibc >= 2.28', 'libgcc', 'libstdc++', 'shadow-utils', 'ca-certificates', 'iptables'],
    scripts: RPM_SCRIPTS,
    owns: ['/usr/lib/berth', '/usr/bin/berth', ...UNITS.map(unit => `${UNIT_FOLDER}/${unit}`)],
  },
}

export const serverTargets = systemTargets(SERVER_PRODUCT)

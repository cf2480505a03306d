import { chmod, mkdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type KeyedMutex } from '#base/mutex'
import { KernelSsh } from '#agent/contract'
import { type SessionUser } from '../docker/container-config.ts'
import { NOTES, SCRIPT } from '../docker/start-script.ts'
import { type ImageAccounts, NO_ACCOUNTS } from '../images/image-accounts.ts'
import { unlessFull } from '../unless-full.ts'
import { groupFile, passwdFile, SHELL } from './account-files.ts'
import { type Cluster, CLUSTER_FILES, hostfile, knownHosts, sshConfig, WAIT_FOR } from './cluster-files.ts'
import { type ClusterKeys, clusterKeysOf } from './cluster-keys.ts'
import { KERNEL_DIRECTORY } from './homes.ts'
import { createKeyPair } from './key-pair.ts'
import { environmentFile, PROFILE } from './login-files.ts'
import { putFile } from './put-file.ts'
import { unlessMissing } from '../unless-missing.ts'

/** The files of a kernel besides its home. Which they are, and the threat model, is in `kernel-files.ts`. */
export interface ControlFiles {
  /** Creates the key pairs and all mounted files, except the home. */
  createControl(kernelId: string, authorizedKeys: readonly string[], cluster?: ClusterOfKernel): Promise<KernelSsh>
  /**
   * Adds the accounts of the image to those of the session, and its settings of SSH to those of the cluster. Call it before the container
   * starts, after `createControl`.
   */
  writeAccounts(kernelId: string, image: ImageAccounts, cluster?: Cluster): Promise<void>
  writeEnvironment(kernelId: string, environment: readonly string[]): Promise<void>
  /**
   * Writes the files that the main process reads first: notes for the log, and the owner's start-up script. @returns whether there are any
   */
  writeStart(kernelId: string, start: { readonly notes: readonly string[]; readonly script: string }): Promise<boolean>
  hasStartScript(kernelId: string): Promise<boolean>
  readSsh(kernelId: string): Promise<KernelSsh | undefined>
  /** Creates new key pairs for a kernel that has lost its own; saved once `place` has put them where its server finds them. */
  renewSsh(kernelId: string, place: (hostKey: string, authorizedKey: string) => Promise<void>): Promise<KernelSsh>
  isSshRenewed(kernelId: string): Promise<boolean>
  readSecrets(kernelId: string): Promise<Record<string, string>>
  writeSecrets(kernelId: string, secrets: Readonly<Record<string, string>>): Promise<void>
  /** Records for the programs of a kernel when its session will be interrupted (ISO 8601); null: never. @returns whether this changed */
  setInterruption(kernelId: string, at: string | null): Promise<boolean>
}

/** A session of several kernels, as one of them sees it. */
export interface ClusterOfKernel extends Cluster {
  /** Secret from which the kernels derive their keys; undefined: an older manager sent none, and each kernel has keys of its own. */
  readonly seed: string | undefined
}

/** Control files, for the agent's own use too. */
export interface OwnControlFiles extends ControlFiles {
  /** Absolute path of a control file. */
  pathOf(kernelId: string, ...rest: string[]): string
  /** Notes from which kernel the home is, until the kernel has started. @throws `disk_full` */
  noteTaken(kernelId: string, filesOf: string): Promise<void>
  forgetTaken(kernelId: string): Promise<void>
  /** The kernel from which this one has its home until it has started: another kernel, or itself. */
  takenFrom(kernelId: string): Promise<string | undefined>
  remove(kernelId: string): Promise<void>
}

export interface ControlFilesDeps {
  /** Directory of all control files. */
  readonly kernels: string
  /** Directory of all homes. */
  readonly scratch: string
  /** Owner of the files of sessions. @throws `config_invalid` */
  readonly user: () => Promise<SessionUser>
  /** A start of a kernel and the removal of remains of its earlier start take turns. */
  readonly inTurn: KeyedMutex
}

/** In the control directory, /run/berth. */
const INTERRUPTION = 'interruption'

export function createControlFiles({ kernels, scratch, user: ownerOf, inTurn }: ControlFilesDeps): OwnControlFiles {
  const asRoot = process.getuid?.() === 0
  const kernelPath = (kernelId: string, ...rest: string[]) => join(kernels, kernelId, ...rest)
  const filesOfPath = (kernelId: string) => kernelPath(kernelId, 'files-of')

  /** Creates a directory owned by the agent. @throws `disk_full` */
  async function makeControl(...path: string[]): Promise<string> {
    const directory = join(kernels, ...path)
    try {
      await mkdir(kernels, { recursive: true, mode: 0o700 })
      await mkdir(directory, { recursive: true })
    } catch (error) {
      throw unlessFull(error, directory)
    }
    return directory
  }

  /** @param owner applied only if the agent may give files away */
  const put = (path: string, content: string, mode: number, owner?: SessionUser) =>
    putFile(path, content, { mode, owner: asRoot ? owner : undefined })

  async function putAccounts(kernelId: string, image: ImageAccounts, cluster?: Cluster): Promise<void> {
    const user = await ownerOf()
    await Promise.all([
      ...(cluster
        ? [put(kernelPath(kernelId, 'etc', 'ssh_config'), sshConfig(cluster, image.sshConfig ?? ''), 0o644)]
        : []),
      put(kernelPath(kernelId, 'etc', 'passwd'), passwdFile(user, image), 0o644),
      put(kernelPath(kernelId, 'etc', 'group'), groupFile(user, image), 0o644),
    ])
  }

  /** Files with which the kernels of a session log in to each other. */
  function putCluster(control: string, cluster: Cluster, { host, login, to }: KeysOfCluster): Promise<void>[] {
    const { login: key, known, wait, hosts } = CLUSTER_FILES
    return [
      put(join(control, key), login.private, 0o600, to),
      put(join(control, known), knownHosts(cluster, host.public), 0o644),
      put(join(control, wait), WAIT_FOR, 0o644),
      put(join(control, hosts), hostfile(cluster), 0o644),
    ]
  }

  return {
    pathOf: kernelPath,
    async noteTaken(kernelId, filesOf) {
      await makeControl(kernelId)
      await put(filesOfPath(kernelId), filesOf, 0o600)
    },
    forgetTaken: kernelId => rm(filesOfPath(kernelId), { force: true }),
    async takenFrom(kernelId) {
      const filesOf = await readFile(filesOfPath(kernelId), 'utf8').catch(unlessMissing)
      // After a loss of power the file may hold anything.
      return filesOf !== undefined && KERNEL_DIRECTORY.test(filesOf) ? filesOf : undefined
    },
    remove: kernelId => rm(kernelPath(kernelId), { recursive: true, force: true }),
    createControl: (kernelId, authorizedKeys, cluster) =>
      inTurn(kernelId, async () => {
        const to = await ownerOf()
        const { host, login, ssh } = await makeKeys(kernelId, cluster?.seed)
        const [control, etc] = await Promise.all([makeControl(kernelId, 'run'), makeControl(kernelId, 'etc')])
        await Promise.all([control, etc].map(path => chmod(path, 0o755)))
        const keys = [login.public, ...authorizedKeys.map(key => key.trim()).filter(key => /^[^\r\n]+$/.test(key))]
        await Promise.all([
          put(kernelPath(kernelId, 'ssh.json'), JSON.stringify(ssh), 0o600),
          put(join(control, 'ssh_host_ed25519_key'), host.private, 0o600, to),
          put(join(control, 'authorized_keys'), `${keys.join('\n')}\n`, 0o644),
          putAccounts(kernelId, NO_ACCOUNTS, cluster),
          ...(cluster ? putCluster(control, cluster, { host, login, to }) : []),
          put(join(etc, 'shells'), `${SHELL}\n/bin/sh\n/bin/bash\n/usr/bin/sh\n/usr/bin/bash\n`, 0o644),
          put(join(etc, 'profile.sh'), PROFILE, 0o644),
        ])
        return ssh
      }),
    writeAccounts: putAccounts,
    async writeEnvironment(kernelId, environment) {
      const file = kernelPath(kernelId, 'run', 'environment')
      await put(file, environmentFile(environment), 0o600, await ownerOf())
      const ssh = KernelSsh.parse(JSON.parse(await readFile(kernelPath(kernelId, 'ssh.json'), 'utf8')))
      await put(join(scratch, kernelId, 'id_container'), ssh.privateKey, 0o600, await ownerOf())
    },
    async writeStart(kernelId, { notes, script }) {
      const owner = await ownerOf()
      const write = (name: string, text: string) => put(kernelPath(kernelId, 'run', name), text, 0o600, owner)
      if (notes.length > 0) await write(NOTES, notes.map(note => `${note}\n`).join(''))
      if (script !== '') await write(SCRIPT, script)
      return notes.length > 0 || script !== ''
    },
    hasStartScript: async kernelId =>
      (await stat(kernelPath(kernelId, 'run', SCRIPT)).catch(unlessMissing)) !== undefined,
    async readSsh(kernelId) {
      const text = await readFile(kernelPath(kernelId, 'ssh.json'), 'utf8').catch(unlessMissing)
      return text === undefined ? undefined : KernelSsh.parse(JSON.parse(text))
    },
    async renewSsh(kernelId, place) {
      const { host, ssh } = await makeKeys(kernelId)
      await makeControl(kernelId)
      await place(host.private, ssh.publicKey)
      await put(kernelPath(kernelId, 'renewed'), '', 0o600)
      // Written last: if the agent stops earlier, all these steps are repeated.
      await put(kernelPath(kernelId, 'ssh.json'), JSON.stringify(ssh), 0o600)
      return ssh
    },
    isSshRenewed: async kernelId =>
      (await readFile(kernelPath(kernelId, 'renewed')).catch(unlessMissing)) !== undefined,
    async readSecrets(kernelId) {
      const text = await readFile(kernelPath(kernelId, 'secrets.json'), 'utf8').catch(() => '{}')
      const secrets: unknown = JSON.parse(text)
      if (typeof secrets !== 'object' || secrets === null) return {}
      return Object.fromEntries(
        Object.entries(secrets).flatMap(([app, secret]) => (typeof secret === 'string' ? [[app, secret]] : [])),
      )
    },
    async writeSecrets(kernelId, secrets) {
      // The directory may be lost with an earlier data directory, if this agent has replaced another one.
      await makeControl(kernelId)
      await put(kernelPath(kernelId, 'secrets.json'), JSON.stringify(secrets), 0o600)
    },
    async setInterruption(kernelId, at) {
      const path = kernelPath(kernelId, 'run', INTERRUPTION)
      const known = (await readFile(path, 'utf8').catch(unlessMissing))?.trim() ?? null
      if (known === at) return false
      if (at === null) await rm(path, { force: true })
      else await put(path, `${at}\n`, 0o644)
      return true
    },
  }
}

interface KeysOfCluster extends ClusterKeys {
  /** Owner of the private key. */
  readonly to: SessionUser
}

/** @param seed of the session, if its kernels share their keys */
async function makeKeys(kernelId: string, seed?: string): Promise<ClusterKeys & { ssh: KernelSsh }> {
  const { host, login } = seed === undefined ? await newKeys(kernelId) : clusterKeysOf(seed)
  const ssh = { user: 'work', hostKey: host.public, privateKey: login.private, publicKey: login.public }
  return { host, login, ssh }
}

async function newKeys(kernelId: string): Promise<ClusterKeys> {
  const [host, login] = await Promise.all([createKeyPair(`berth ${kernelId}`), createKeyPair('id_container')])
  return { host, login }
}

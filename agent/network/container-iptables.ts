import { randomUUID } from 'node:crypto'
import { AppError, because } from '#manager/contract'
import { type EngineClient, engineMessage, isMissing } from '../docker/engine-client.ts'
import { createDemuxer } from '../docker/demux.ts'
import { type Iptables, type IptablesProgram, MAX_RULES_BYTES } from './iptables.ts'

export interface ContainerIptablesDeps {
  readonly engine: EngineClient
  /** Image of the toolbox, which contains iptables in addition to the parts for sessions. */
  readonly image: string
}

const TIMEOUT_MS = 30_000
/** Long, because each check starts a container; a restart of Docker triggers a check at once. */
const CHECK_EVERY_MS = 5 * 60_000
const NO_IPTABLES = 3

/**
 * Shell script that runs a program in the back end of iptables which Docker uses: Docker's chains are in one of the two. If they are in
 * neither, Docker uses its own nftables rules, and rules of the newer back end work beside them.
 */
const RUN = `
  PATH=/opt/berth/applets
  bin=/opt/berth-firewall/bin
  export XTABLES_LIBDIR=/opt/berth-firewall/lib/xtables XTABLES_LOCKFILE=/tmp/xtables.lock
  [ -e $bin/xtables-nft-multi ] || exit ${NO_IPTABLES}
  has() { $bin/xtables-$1-multi iptables-save -t filter 2>/dev/null </dev/null | grep -q '^:DOCKER'; }
  back=nft
  has nft || ! has legacy || back=legacy
  exec $bin/xtables-$back-multi "$@"`

/**
 * Runs iptables for an agent that is not root, in toolbox containers on the host's network. Everybody who may use the engine could do this
 * by hand.
 *
 * Threat model: the container runs one program of ours and ends. It has only the capability to administer the network, cannot gain others,
 * cannot write, and mounts nothing of the host. Words of a rule are passed as arguments, and rules by standard input, so no text becomes a
 * command. The output is read only up to a limit of bytes and time.
 */
export function containerIptables({ engine, image }: ContainerIptablesDeps): Iptables {
  return {
    checkEveryMs: CHECK_EVERY_MS,
    check() {
      if (process.platform !== 'linux') throw new AppError('unavailable', because('no_iptables_here'))
    },
    async run(program, args, input = '') {
      try {
        return await runOnce(program, args, input)
      } catch (error) {
        if (error instanceof AppError) throw error
        const why = isMissing(error)
          ? because('toolbox_image_missing', { image })
          : because('docker_says', { text: engineMessage(error) })
        throw new AppError('unavailable', why, { cause: error })
      }
    },
  }

  async function runOnce(program: IptablesProgram, args: readonly string[], input: string): Promise<string> {
    const { id } = await engine.calls.createContainer({
      name: `berth-firewall-${randomUUID()}`,
      Image: image,
      Entrypoint: [],
      Cmd: ['/opt/berth/bin/busybox', 'sh', '-c', RUN, 'sh', program, ...args],
      User: '0:0',
      OpenStdin: true,
      StdinOnce: true,
      HostConfig: {
        NetworkMode: 'host',
        // Root of the host's user namespace, to which the rules belong, even if the engine gives containers another namespace.
        UsernsMode: 'host',
        CapDrop: ['ALL'],
        CapAdd: ['NET_ADMIN'],
        SecurityOpt: ['no-new-privileges'],
        ReadonlyRootfs: true,
        Tmpfs: { '/tmp': 'size=1m' },
        LogConfig: { Type: 'none', Config: {} },
        AutoRemove: true,
      },
    })
    const container = engine.streams.getContainer(id)
    try {
      const abortSignal = AbortSignal.timeout(TIMEOUT_MS)
      const all = { stream: true, stdin: true, stdout: true, stderr: true, hijack: true, abortSignal }
      const streams = await container.attach(all)
      const printed = read(streams)
      // Wait before the start: a container that has ended is removed.
      const ended = container.wait({ condition: 'next-exit', abortSignal }) as Promise<{ StatusCode: number }>
      // Both are awaited below; until then a failure of the start must not leave them unhandled.
      const both = Promise.all([ended, printed])
      both.catch(() => undefined)
      await container.start()
      streams.end(input)
      const [{ StatusCode: code }, { stdout, stderr }] = await both
      if (code === 0) return stdout
      const said = stderr.trim().split('\n').slice(0, 2).join(' ')
      if (code === NO_IPTABLES) throw new AppError('unavailable', because('toolbox_no_iptables', { image }))
      throw new AppError(
        'unavailable',
        said === '' ? because('iptables_exit', { program, code }) : because('iptables_says', { text: said }),
      )
    } catch (error) {
      // The container removes itself only after it has run.
      await engine.calls
        .getContainer(id)
        .remove({ force: true })
        .catch(() => undefined)
      throw error
    }
  }
}

/** Reads both outputs of a container to their end. @throws if there is more than a rule table can have */
async function read(streams: AsyncIterable<unknown>): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []]
  const split = createDemuxer({ stdout: part => stdout.push(part), stderr: part => stderr.push(part) })
  let bytes = 0
  for await (const chunk of streams) {
    bytes += (chunk as Buffer).length
    if (bytes > MAX_RULES_BYTES) throw new Error('too many rules')
    split(chunk as Buffer)
  }
  return { stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() }
}

import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import Docker from 'dockerode'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startKeyAgent } from '../fixtures/key-agent.ts'

/** The toolbox in the three smallest kinds of container, used by real clients: OpenSSH, rsync, PuTTY. */
const docker = new Docker()
const run = promisify(execFile)
const TOOLBOX = process.env.BERTH_TOOLBOX_IMAGE ?? 'berth/toolbox:latest'
const UID = 1000
const PORT = 2222

const images = [
  ['an image with one static program', 'berth/tiny:test', ['/sleep', 'infinity'], {}],
  ['a read-only busybox', 'berth/busybox:test', ['sleep', 'infinity'], { ReadonlyRootfs: true }],
  ['Debian', 'debian:trixie-slim', ['sleep', 'infinity'], {}],
] as const

describe.each(images)('the toolbox in %s', (_name, image, command, host) => {
  let box: Box
  beforeAll(async () => (box = await openBox(image, command, host)))
  afterAll(() => (box as Box | undefined)?.[Symbol.asyncDispose]())

  test('ssh runs a command with the environment of the session', async () => {
    const { stdout } = await box.ssh('echo "$GREETING from $(id -u) in $PWD"; echo "$PATH"')
    expect(stdout).toContain('grüß dich, Welt from 1000 in /home/work\n')
    expect(stdout).toMatch(/^\/image\/bin:.*:\/opt\/berth\/bin/m)
    await expect(box.ssh('exit 42')).rejects.toMatchObject({ code: 42 })
  })

  test('ls is found and the loader stays quiet, whatever PATH and LD_PRELOAD the image sets', async () => {
    const file = join(box.folder, 'run', 'environment')
    const before = await readFile(file, 'utf8')
    await writeFile(file, `${before}\nPATH=/nowhere\nLD_PRELOAD=/nope.so:/opt/nope.so\n`)
    try {
      const { stdout, stderr } = await box.ssh('ls -d /home/work; echo "[$LD_PRELOAD]"')
      expect(stdout).toBe('/home/work\n[]\n')
      expect(stderr).not.toContain('ld.so')
    } finally {
      await writeFile(file, before)
    }
  })

  test('SSH needs an authorised key, and accepts a newly authorised one at once', async () => {
    const guest = await makeKey(box.folder, `guest-${randomBytes(4).toString('hex')}`)
    await expect(box.ssh('true', guest.file)).rejects.toThrow(/Permission denied \(publickey\)/)
    const keys = join(box.folder, 'run', 'authorized_keys')
    await writeFile(`${keys}.new`, `${await readFile(keys, 'utf8')}${guest.public}\n`, { mode: 0o644 })
    await rename(`${keys}.new`, keys)
    await expect(box.ssh('echo in', guest.file)).resolves.toMatchObject({ stdout: 'in\n' })
  })

  test('sftp, scp, scp -O, rsync, psftp and pscp move a file both ways', async () => {
    const { folder, options, address } = box
    const source = join(folder, 'source')
    await writeFile(source, randomBytes(5_000_001))
    const hash = await sha256(source)
    const remote = `work@${address}`
    const key = join(folder, 'id.ppk')
    await run('puttygen', [join(folder, 'id'), '-O', 'private', '-o', key])
    const { stdout } = await run('ssh-keygen', ['-lf', join(folder, 'run', 'ssh_host_ed25519_key')])
    const login = ['-batch', '-P', String(PORT), '-i', key, '-hostkey', stdout.split(' ')[1] ?? '']
    const env = { ...process.env, HOME: folder }
    const ways: Record<string, (there: string, back: string) => Promise<unknown>> = {
      sftp: async (there, back) => {
        const script = join(folder, 'batch')
        await writeFile(script, `put ${source} ${there}\nget ${there} ${back}\n`)
        return run('sftp', [...options, '-b', script, '-P', String(PORT), remote])
      },
      scp: async (there, back) => {
        await run('scp', [...options, '-P', String(PORT), source, `${remote}:${there}`])
        return run('scp', [...options, '-P', String(PORT), `${remote}:${there}`, back])
      },
      'scp -O': async (there, back) => {
        await run('scp', ['-O', ...options, '-P', String(PORT), source, `${remote}:${there}`])
        return run('scp', ['-O', ...options, '-P', String(PORT), `${remote}:${there}`, back])
      },
      rsync: async (there, back) => {
        const shell = ['-e', `ssh ${options.join(' ')} -p ${String(PORT)}`]
        await run('rsync', [...shell, source, `${remote}:${there}`])
        return run('rsync', [...shell, `${remote}:${there}`, back])
      },
      psftp: async (there, back) => {
        const script = join(folder, 'batch')
        await writeFile(script, `put ${source} ${there}\nget ${there} ${back}\n`)
        return run('psftp', [...login, '-b', script, remote], { env })
      },
      pscp: async (there, back) => {
        await run('pscp', ['-q', ...login, source, `${remote}:${there}`], { env })
        return run('pscp', ['-q', ...login, `${remote}:${there}`, back], { env })
      },
    }
    for (const [name, move] of Object.entries(ways)) {
      const back = join(folder, `back-${name}`)
      await move(`/home/work/there-${name.replace(' ', '')}`, back)
      expect(await sha256(back), name).toBe(hash)
    }
  })

  test('the ssh, scp and sftp clients in the session use a key of the agent that the user forwards', async () => {
    const forwarded = await makeKey(box.folder, `forwarded-${randomBytes(4).toString('hex')}`)
    const keys = join(box.folder, 'run', 'authorized_keys')
    await writeFile(keys, `${await readFile(keys, 'utf8')}${forwarded.public}\n`)
    await using agent = await startKeyAgent(forwarded.file)
    const there = `work@${box.address}`
    // The session's own server represents any other server: only the forwarded key must open it.
    const options = `-o StrictHostKeyChecking=accept-new -o BatchMode=yes`
    const script = [
      'ssh-add -L',
      `ssh ${options} -p ${PORT} ${there} echo by-ssh`,
      'echo carried > here',
      `scp -q ${options} -P ${PORT} here ${there}:by-scp && cat by-scp`,
      `scp -q -O ${options} -P ${PORT} ${there}:by-scp by-old-scp && cat by-old-scp`,
      `echo "get by-scp by-sftp" | sftp -q ${options} -b - -P ${PORT} ${there} && cat by-sftp`,
    ].join(' && ')
    const { stdout } = await run('ssh', ['-A', ...box.options, '-p', String(PORT), there, script], { env: agent.env })
    expect(stdout.split('\n').filter(line => !line.startsWith('sftp>'))).toEqual([
      forwarded.public,
      'by-ssh',
      'carried',
      'carried',
      'carried',
      '',
    ])
    const without = run('ssh', [...box.options, '-p', String(PORT), there, 'ssh-add -l'], { env: agent.env })
    await expect(without).rejects.toMatchObject({ code: 2 })
  })

  test('ssh gives a terminal', async () => {
    const { stdout } = await run('ssh', [
      ...box.options,
      '-tt',
      '-p',
      String(PORT),
      `work@${box.address}`,
      'tty; stty size',
    ])
    expect(stdout).toMatch(/\/dev\/pts\/\d+/)
  })

  test('a terminal is kept for the next visit, with its UTF-8', async () => {
    const name = 'ünusual name!'
    const first = await box.terminal(name)
    first.type('printf "%s-%s\\n" grüß dich; MARK=kept\r')
    await expect.poll(() => first.text()).toContain('grüß-dich')
    first.hangUp()
    const second = await box.terminal(name)
    await expect.poll(() => second.text()).toContain('grüß-dich')
    // Locale and terminal of the surrounding tmux must not affect the shell inside.
    second.type('echo "[$MARK] [$LOCPATH$TMUX]"\r')
    await expect.poll(() => second.text()).toContain('[kept] []')
    second.type('exit\r')
    await expect.poll(() => second.ended()).toBe(true)
  })

  test('a copied text (OSC 52) and colours reach the outer terminal', async () => {
    const terminal = await box.terminal('copy')
    const copied = Buffer.from('copied').toString('base64')
    // The shell's echo of the line must not be mistaken for the real output.
    terminal.type(`printf '\\033]52;c;${copied}\\007\\033[38;2;1;2;3mblue\\033[m\\n'\r`)
    await expect.poll(() => terminal.text()).toMatch(new RegExp(`\\u001b\\]52;[a-z]*;${copied}`))
    await expect.poll(() => terminal.text()).toContain('\u001b[38;2;1;2;3m')
    terminal.type('exit\r')
  })

  test('a port of loopback is relayed, also after one direction has ended', async () => {
    // Answers only when the question has ended.
    await box.start([
      '/opt/berth/bin/socat',
      'TCP4-LISTEN:4321,bind=127.0.0.1,fork,reuseaddr',
      'EXEC:/opt/berth/bin/busybox md5sum',
    ])
    const answer = async () => (await box.relay(4321, 'question')).trim()
    await expect.poll(answer).toBe(`${createHash('md5').update('question').digest('hex')}  -`)
  })
})

interface Terminal {
  type(text: string): void
  text(): string
  ended(): boolean
  hangUp(): void
}

interface Box extends AsyncDisposable {
  readonly folder: string
  readonly address: string
  /** For ssh, scp, sftp and rsync: our key, the pinned host key, and no configuration of this machine. */
  readonly options: readonly string[]
  ssh(command: string, key?: string): Promise<{ stdout: string; stderr: string }>
  terminal(name: string): Promise<Terminal>
  start(command: readonly string[]): Promise<void>
  relay(port: number, question: string): Promise<string>
}

/** A container like one created by an agent, see build/toolbox/README.md. */
async function openBox(image: string, command: readonly string[], host: object): Promise<Box> {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'berth-test-toolbox-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o711)
  await mkdir(join(folder, 'run'))
  await mkdir(join(folder, 'home'))
  await chown(join(folder, 'home'), UID, UID)
  const client = await makeKey(folder, 'id')
  const server = await makeKey(join(folder, 'run'), 'ssh_host_ed25519_key')
  await chown(server.file, UID, UID)
  await put(folder, 'run/authorized_keys', client.public)
  await put(
    folder,
    'run/environment',
    'GREETING=grüß dich, Welt\nPATH=/image/bin:/usr/bin:/bin\nnot a line\nBAD-NAME=1\nSHELL=/bin/false',
  )
  await put(
    folder,
    'passwd',
    `root:x:0:0:root:/root:/bin/sh\nwork:x:${UID}:${UID}:work:/home/work:/opt/berth/bin/berth-shell`,
  )
  await put(folder, 'group', `root:x:0:\ntty:x:5:\nwork:x:${UID}:`)
  await put(folder, 'shells', '/opt/berth/bin/berth-shell\n/bin/sh\n/bin/bash')

  const volume = `berth-test-toolbox-${randomBytes(6).toString('hex')}`
  stack.defer(() => docker.getVolume(volume).remove())
  await docker.createVolume({ Name: volume })
  // Docker fills the empty volume from the image that has something at its place.
  const filler = await docker.createContainer({
    Image: TOOLBOX,
    HostConfig: { Binds: [`${volume}:/opt/berth`] },
  })
  await filler.remove()

  const container = await docker.createContainer({
    Image: image,
    Entrypoint: [],
    Cmd: [...command],
    User: `${UID}:${UID}`,
    WorkingDir: '/home/work',
    Env: ['HOME=/home/work', 'LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu'],
    HostConfig: {
      Init: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Binds: [
        `${volume}:/opt/berth:ro`,
        `${join(folder, 'run')}:/run/berth:ro`,
        `${join(folder, 'home')}:/home/work`,
        ...['passwd', 'group', 'shells'].map(name => `${join(folder, name)}:/etc/${name}:ro`),
      ],
      ...host,
    },
  })
  stack.defer(() => container.remove({ force: true }))
  await container.start()
  const { NetworkSettings } = await container.inspect()
  const [network] = Object.values(NetworkSettings.Networks)
  const address = network?.IPAddress ?? ''

  const execute = async (cmd: readonly string[], tty: boolean) => {
    const exec = await container.exec({
      Cmd: [...cmd],
      Tty: tty,
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      ...(tty ? { Env: ['TERM=xterm-256color'] } : {}),
    })
    return { exec, stream: await exec.start({ hijack: true, stdin: true, Tty: tty }) }
  }

  await execute(['/opt/berth/bin/berth-sshd', String(PORT)], false)
  await vi.waitFor(() => canConnect(address, PORT), { timeout: 120_000 })
  const known = join(folder, 'known_hosts')
  await writeFile(known, `[${address}]:${PORT} ${server.public}\n`)
  const shared = [
    '-F',
    '/dev/null',
    '-o',
    'BatchMode=yes',
    '-o',
    'IdentitiesOnly=yes',
    '-o',
    'StrictHostKeyChecking=yes',
  ]
  const optionsFor = (key: string) => [...shared, '-o', `UserKnownHostsFile=${known}`, '-i', key]

  const owned = stack.move()
  return {
    folder,
    address,
    options: optionsFor(client.file),
    ssh: (line, key = client.file) => run('ssh', [...optionsFor(key), '-p', String(PORT), `work@${address}`, line]),
    async terminal(name) {
      const { exec, stream } = await execute(['/opt/berth/bin/berth-terminal', name], true)
      await exec.resize({ w: 120, h: 40 })
      let text = ''
      let ended = false
      stream.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')))
      stream.on('end', () => (ended = true))
      await expect.poll(() => text).not.toBe('')
      return { type: keys => stream.write(keys), text: () => text, ended: () => ended, hangUp: () => stream.destroy() }
    },
    async start(cmd) {
      await execute(cmd, false)
    },
    async relay(port, question) {
      const { stream } = await execute(['/opt/berth/bin/berth-relay', String(port)], false)
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      const ended = new Promise(resolve => stream.once('end', resolve))
      stream.end(question)
      await ended
      // Each frame of a stream without a TTY starts with 8 bytes: stream number and length. Standard error is not the answer.
      const frames = Buffer.concat(chunks)
      return frames[0] === 1 ? frames.subarray(8).toString('utf8') : ''
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function makeKey(folder: string, name: string): Promise<{ file: string; public: string }> {
  const file = join(folder, name)
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', file])
  return { file, public: (await readFile(`${file}.pub`, 'utf8')).trim() }
}

async function put(folder: string, name: string, text: string): Promise<void> {
  await writeFile(join(folder, name), `${text}\n`, { mode: 0o644 })
}

async function sha256(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
}

function canConnect(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port }, () => {
      socket.destroy()
      resolve()
    })
    socket.on('error', reject)
  })
}

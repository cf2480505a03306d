import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Terminal } from '@xterm/xterm'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import WebSocket from 'ws'
import { TERMINAL_PROTOCOL, TUNNEL_CLOSE } from '#manager/contract'
import { countCellsLikeTmux } from '../../renderer/features/terminal/cell-widths.ts'
import { docker, execIn, TOOLBOX_IMAGE } from '../fixtures/docker.ts'
import { readAll, SESSION, startPath } from '../fixtures/tunnel-path.ts'

/** A tunnel and a terminal inside a real container: the relay to its loopback, and tmux. */
const name = `berth-test-tunnel-${randomUUID()}`
const PORT = 7000
let address = ''

beforeAll(async () => {
  const labels = { 'berth.manager': name }
  await docker.createVolume({ Name: name, Labels: labels })
  // Docker fills the empty volume when a container of the image is created.
  const filler = await docker.createContainer({
    Image: TOOLBOX_IMAGE,
    Cmd: ['true'],
    Labels: labels,
    HostConfig: { Binds: [`${name}:/opt/berth`] },
  })
  await filler.remove()
  const socat = ['/opt/berth/bin/socat', `TCP4-LISTEN:${PORT},bind=127.0.0.1,fork,reuseaddr`, 'EXEC:cat']
  const container = await docker.createContainer({
    name,
    Image: 'debian:trixie-slim',
    Cmd: socat,
    User: '1000:1000',
    Labels: labels,
    Env: ['HOME=/tmp'],
    HostConfig: {
      Binds: [`${name}:/opt/berth:ro`],
      Init: true,
      // As newer engines leave it.
      Sysctls: { 'net.ipv6.conf.lo.disable_ipv6': '0' },
    },
  })
  await container.start()
  address = (await container.inspect()).NetworkSettings.Networks.bridge?.IPAddress ?? ''
})

afterAll(async () => {
  await docker.getContainer(name).remove({ force: true })
  await docker.getVolume(name).remove()
})

const startContainerPath = async (port = PORT, direct?: true) => {
  const { Id } = await docker.getContainer(name).inspect()
  return startPath({ service: () => undefined, direct, container: { docker, containerId: Id, address, port } })
}

test('where the direct path is offered, a service on the loopback of its container is still reached', async () => {
  await using path = await startContainerPath(PORT, true)
  for (const word of ['one', 'two']) {
    const client = await path.connect()
    client.end(word)
    expect((await readAll(client)).toString()).toBe(word)
  }
  expect(path.directLines).toEqual([])
  // The agent has noticed that only it can reach the app.
  expect(path.directPath?.ask(SESSION, 'echo')).toBeUndefined()
})

test('a service on the loopback of its container is reached, with half-close', async () => {
  await using path = await startContainerPath()
  const sent = randomBytes(3_000_000)
  const clients = await Promise.all([path.connect(), path.connect()])
  for (const client of clients) client.end(sent)
  for (const answer of await Promise.all(clients.map(readAll))) {
    expect(createHash('sha256').update(answer).digest('hex')).toBe(createHash('sha256').update(sent).digest('hex'))
  }
  await expect.poll(() => path.outcomes.map(outcome => outcome.reason)).toEqual(['done', 'done'])
})

test('a client that leaves ends its relay in the container', async () => {
  await using path = await startContainerPath()
  const client = await path.connect()
  client.write('x')
  await once(client, 'data')
  expect(await processes('TCP4:127.0.0.1')).toBe(1)
  client.resetAndDestroy()
  await expect.poll(() => processes('TCP4:127.0.0.1')).toBe(0)
})

test('a service that goes on writing learns that its client has left', async () => {
  const flood = 7001
  const listener = `/opt/berth/bin/socat TCP4-LISTEN:${flood},bind=127.0.0.1,fork,reuseaddr EXEC:yes`
  await execIn(name, 'sh', '-c', `${listener} < /dev/null > /dev/null 2>&1 &`)
  await untilListening(flood)
  await using path = await startContainerPath(flood)
  const clients = [await path.connect(), await path.connect()]
  for (const client of clients) await once(client, 'data')
  expect(await processes('TCP4:127.0.0.1')).toBe(2)
  clients[0]?.resetAndDestroy()
  clients[1]?.destroy()
  await expect.poll(() => processes('TCP4:127.0.0.1')).toBe(0)
  await expect.poll(() => processes(' yes ')).toBe(0)
})

test('an answer that comes before the request has ended is not lost when the service then closes', async () => {
  const early = 7002
  const service = `my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => ${early}, Listen => 9);
    while (my $c = $s->accept) { sysread $c, my $b, 100; syswrite $c, 'early'; close $c }`
  const start = 'perl -MIO::Socket::INET -e "$0" < /dev/null > /dev/null 2>&1 &'
  await execIn(name, 'sh', '-c', start, service)
  await untilListening(early)
  await using path = await startContainerPath(early)
  for (let count = 0; count < 8; count++) {
    const client = await path.connect()
    let answer = ''
    client.on('data', (chunk: Buffer) => (answer += chunk.toString())).on('error', () => undefined)
    client.write(randomBytes(200_000))
    await expect.poll(() => answer).toBe('early')
    client.destroy()
  }
})

test('a port without a listener inside or outside is refused', async () => {
  await using path = await startContainerPath(7999)
  const client = await path.connect()
  await once(client, 'error')
  await expect.poll(() => path.outcomes).toEqual([{ reason: 'refused', connected: false }])
})

test('a service that listens on ::1 only is reached', async () => {
  const port = 7003
  const listener = ['/opt/berth/bin/socat', `TCP6-LISTEN:${port},bind=[::1],ipv6only=1,fork,reuseaddr`, 'EXEC:cat']
  const exec = await docker.getContainer(name).exec({ Cmd: listener })
  await exec.start({ Detach: true })
  await using path = await startContainerPath(port)
  await untilListening(port)
  const client = await path.connect()
  client.end('by IPv6')
  expect((await readAll(client)).toString()).toBe('by IPv6')
})

test('a terminal has the requested size, follows a resize, survives its connection, and ends with its shell', async () => {
  await using path = await startContainerPath()
  const open = async (size: string) => {
    const url = `ws://127.0.0.1:${path.managerPort}/api/v1/sessions/${SESSION}/terminal?name=t1&${size}`
    const socket = new WebSocket(url, [TERMINAL_PROTOCOL], { headers: { authorization: 'Bearer owner' } })
    let screen = ''
    socket.on('message', (data: Buffer) => (screen += data.toString()))
    await once(socket, 'open')
    return { socket, screen: () => screen }
  }
  const first = await open('cols=101&rows=31')
  // An engine takes a size only once the shell runs, so a command that is sent at once may still see the size before.
  const hasSize = (size: string) =>
    expect
      .poll(
        () => {
          first.socket.send(Buffer.from('stty size\r'))
          return first.screen()
        },
        { interval: 300 },
      )
      .toContain(size)
  first.socket.send(Buffer.from('MARK=kept\r'))
  await hasSize('31 101')
  first.socket.send(JSON.stringify({ resize: { cols: 90, rows: 20 } }))
  await hasSize('20 90')
  first.socket.terminate()
  // The client of tmux ends with its connection, the shell stays.
  await expect.poll(() => processes('new-session')).toBe(1)

  // The same for an agent that may not send signals to processes of sessions.
  {
    using kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('not permitted'), { code: 'EPERM' })
    })
    const [leaving, staying] = [await open('cols=80&rows=24'), await open('cols=80&rows=24')]
    await expect.poll(() => processes('new-session')).toBe(3)
    leaving.socket.terminate()
    await expect.poll(() => processes('new-session')).toBe(2)
    expect(kill).toHaveBeenCalled()
    staying.socket.send(Buffer.from('echo "here $((40 + 2))"\r'))
    await expect.poll(staying.screen).toContain('here 42')
    staying.socket.terminate()
    await expect.poll(() => processes('new-session')).toBe(1)
  }

  const second = await open('cols=80&rows=24')
  second.socket.send(Buffer.from('echo "still $MARK"\r'))
  await expect.poll(second.screen).toContain('still kept')
  // The `exit` is a line of its own, sent only now: tmux takes the screen down with the shell, also what it has not drawn yet.
  const closed = once(second.socket, 'close')
  second.socket.send(Buffer.from('exit\r'))
  const [code] = (await closed) as [number]
  expect(code).toBe(TUNNEL_CLOSE.done)
  await expect.poll(() => processes('new-session')).toBe(0)
})

/** Asks the terminal around it where its cursor is after each of its arguments, and writes the answers to `/tmp/columns`. */
const ASK = `stty raw -echo
for text in "$@"; do
  printf '\\r\\033[K%s\\033[6n' "$text"
  IFS= read -r -d R place
  echo "\${place##*;}" >> /tmp/answers
done
mv /tmp/answers /tmp/columns`
const IN_TMUX = `export LC_ALL=C.utf8 LOCPATH=/opt/berth/share/locale TERMINFO_DIRS=/opt/berth/share/terminfo PATH=/opt/berth/applets:/opt/berth/bin SHELL=/opt/berth/applets/ash
rm -f /tmp/answers /tmp/columns
/opt/berth/bin/tmux -u -f /opt/berth/etc/tmux.conf -S /tmp/asked new-session -d -x 80 -y 24 ash -c "$@"
for time in $(seq 300); do [ -e /tmp/columns ] && break; sleep 0.1; done
cat /tmp/columns`

const ODD_TEXTS = ['👍🏽', '✍🏽', '🕵️', '☝', '❤️', '🇰🇷', '👨‍👩‍👧', 'e\u0301', 'か\u3099', 'は\u309A']
/** Characters of a block, evenly spread. */
const spread = (first: number, last: number, count: number) =>
  Array.from({ length: count }, (_, at) =>
    String.fromCodePoint(first + Math.floor(((last - first) * at) / (count - 1))),
  )
/** Letters, Korean, Japanese, signs of programs that draw boxes and progress, and emoji: three hundred. */
const SAMPLES = [
  ...spread(0x61, 0x7a, 10),
  ...spread(0xc0, 0x17f, 30),
  ...spread(0x391, 0x3a1, 5),
  ...spread(0x410, 0x44f, 15),
  ...spread(0x2010, 0x2027, 10),
  ...spread(0x2190, 0x21ff, 20),
  ...spread(0x2500, 0x259f, 40),
  ...spread(0x25a0, 0x27bf, 50),
  ...spread(0x3041, 0x3096, 10),
  ...spread(0x30a1, 0x30fe, 10),
  ...spread(0x4dc0, 0x4dff, 5),
  ...spread(0x4e00, 0x9fff, 20),
  ...spread(0xac00, 0xd7a3, 30),
  ...spread(0x1f300, 0x1f64f, 40),
  ...spread(0x1f900, 0x1f9ff, 20),
  ...spread(0x1f680, 0x1f6c5, 10),
]

test('the page and tmux count the same cells for emoji, Korean and accents', async () => {
  const texts = [...ODD_TEXTS, ...SAMPLES]
  const { stdout } = await execIn(name, '/opt/berth/bin/busybox', 'sh', '-c', IN_TMUX, 'sh', ASK, 'ash', ...texts)
  const byTmux = stdout
    .trim()
    .split('\n')
    .map((column, at) => [texts[at], Number(column) - 1])
  const terminal = new Terminal({ allowProposedApi: true })
  countCellsLikeTmux(terminal)
  const byPage: [string, number][] = []
  for (const text of texts) {
    await new Promise<void>(done => terminal.write(`\r\u001B[K${text}`, done))
    byPage.push([text, terminal.buffer.active.cursorX])
  }
  expect(byPage).toEqual(byTmux)
})

/** Processes of the container whose command line contains these words. */
async function processes(words: string): Promise<number> {
  const { stdout } = await execIn(
    name,
    '/opt/berth/bin/busybox',
    'sh',
    '-c',
    'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " "; true',
  )
  return stdout.split(words).length - 1
}

/** A process that has been started need not listen yet. */
async function untilListening(port: number): Promise<void> {
  const listens = new RegExp(`:${port.toString(16).toUpperCase().padStart(4, '0')} [0-9A-F]+:0000 0A `)
  await expect
    .poll(() => execIn(name, 'cat', '/proc/net/tcp', '/proc/net/tcp6').then(({ stdout }) => stdout))
    .toMatch(listens)
}

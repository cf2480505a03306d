import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { CONTROL_PATH, CONTROL_PROTOCOL, controlSignaturePayload } from '#agent/contract'
import { startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'
import { scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'

/**
 * Agents and managers of the minor version before: the messages of one side were recorded from its program, at 0.1.0 before updates of agents,
 * and are replayed to the other side as it is now.
 */
type Frame = Readonly<Record<string, unknown>> & { readonly type: string }
const recorded = async (name: string) =>
  (await readFile(join(import.meta.dirname, '../../fixtures/wire-0.1.0', name), 'utf8'))
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Frame)

test('an agent of the version before joins, reports, and says what it does not know', async () => {
  const [hello, report, unknown] = await recorded('agent.jsonl')
  await using manager = await startTestManager({ timings: { updatesEveryMs: 50 } })
  const { api } = await manager.signIn()
  const invitation = JSON.parse(
    Buffer.from((await api.createJoinToken({ body: {} })).join.slice('berth-join:'.length), 'base64url').toString(),
  ) as { token: string; agentId: never }
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const socket = new WebSocket(new URL(CONTROL_PATH, manager.url), CONTROL_PROTOCOL)
  onTestFinished(() => socket.terminate())
  const heard: string[] = []
  const send = (frame: object) => socket.send(JSON.stringify(frame))
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as Frame & { nonce: string; managerId: string; id: number; name: string }
    heard.push(frame.type === 'request' ? frame.name : frame.type)
    if (frame.type === 'challenge') {
      const { token, agentId } = invitation
      const payload = controlSignaturePayload(frame.nonce, frame.managerId, agentId)
      const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
      const signature = sign(null, Buffer.from(payload), privateKey).toString('base64')
      send({ ...hello, token, agentId, publicKey: key, signature })
    }
    if (frame.type === 'welcome') send({ ...report, clockMs: Date.now() })
    if (frame.type === 'request') send({ ...unknown, id: frame.id })
  })
  await expect.poll(() => heard).toContain('taken_up')
  const agent = () => api.getAgent({ params: { id: invitation.agentId } })
  expect(await agent()).toMatchObject({
    status: 'CONNECTED',
    capacity: { cpu: '2' },
    update: { kind: null, state: 'current' },
  })
  // Requests that it does not know are its own problem, and are said.
  await api.removeAgent({ params: { id: invitation.agentId }, body: {} })
  await expect.poll(async () => (await agent()).removal?.problemBy?.cause).toBe('request_unknown')
  expect(heard).not.toContain('update_program')
  expect((await agent()).status).toBe('CONNECTED')
})

test('a manager of the version before gets reports and replies of an agent', async () => {
  const frames = await recorded('manager.jsonl')
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sockets = new WebSocketServer({ server, path: CONTROL_PATH, handleProtocols: () => CONTROL_PROTOCOL })
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.closeAllConnections()
    server.close()
  })
  const heard: Frame[] = []
  sockets.on('connection', socket => {
    const left = frames.map(frame =>
      frame.type === 'managers' ? { ...frame, managers: [{ id: frames[0]?.['processId'], url }] } : frame,
    )
    const upTo = (type: string) => {
      for (let next = left.shift(); next; next = left.shift()) {
        socket.send(JSON.stringify(next))
        if (next.type === type) return
      }
    }
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as Frame
      heard.push(frame)
      if (frame.type === 'join') upTo('request')
      if (frame.type === 'report') upTo('taken_up')
    })
    upTo('challenge')
  })
  await using home = await temporaryDirectory()
  await using engine = scriptedEngine({ program: { kind: 'line', digest: 'a'.repeat(64), updates: true, busy: false } })
  const agentId = '01990000-0000-7000-8000-0000000000a1'
  const text = JSON.stringify({ url, token: 'token', agentId })
  await using agent = await startMeshAgent({
    home: home.path,
    engine,
    join: `berth-join:${Buffer.from(text).toString('base64url')}`,
  })
  await expect.poll(() => heard.map(({ type }) => type)).toEqual(expect.arrayContaining(['join', 'report', 'reply']))
  expect(heard.find(({ type }) => type === 'reply')).toEqual({ type: 'reply', id: 1, value: { commands: [] } })
  expect(heard.find(({ type }) => type === 'report')).toMatchObject({ program: { kind: 'line' } })
  await expect.poll(() => [...agent.connectedTo]).toEqual([url])
})

import { type IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { AgentId, AppError, KernelId, SessionId, UserId } from '#manager/contract'
import { currentWork, onBehalfOf } from '../store/on-behalf.ts'
import { createTunnelGateway } from './gateway.ts'

const ID = '00000000-0000-7000-8000-000000000001'
const [sessionId, userId] = [SessionId.parse(ID), UserId.parse(ID)]

test.each([
  ['a person', false, userId],
  ['a visitor of a link', true, '192.0.2.1'],
])('before its proof a tunnel is opened on behalf of a stranger, after it of %s', async (_, isPublic, who) => {
  const seen: unknown[] = []
  const note = () => void seen.push(currentWork()?.who)
  const session = {
    agentId: AgentId.parse(ID),
    kernelId: KernelId.parse(ID),
    status: 'RUNNING' as const,
    apps: [{ name: 'ssh' }],
  }
  await using gateway = createTunnelGateway({
    locate: () => Promise.resolve({ ...session, ownerId: userId, domain: 'default' }).finally(note),
    verifyGrant: () => Promise.resolve({ loginId: 'login', userId, isPublic }).finally(note),
    authenticateUpgrade: () => Promise.reject(new AppError('not_signed_in')),
    isCredentialValid: () => Promise.resolve(true),
    agents: {
      reach: () => Promise.reject(new AppError('agent_unreachable')).finally(note),
      verifyDataToken: () => undefined,
      verifyDataProof: () => undefined,
    },
  })
  const headers = {
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'x-berth-grant': 'grant',
  }
  const url = `/stream/session/${sessionId}/tcpproxy?app=ssh`
  const request = { method: 'GET', url, headers } as unknown as IncomingMessage
  const socket = new Socket()
  await onBehalfOf('192.0.2.1', () => gateway.handle(request, socket, Buffer.alloc(0)))
  socket.destroy()
  expect(seen).toEqual(['192.0.2.1', '192.0.2.1', who])
})

test.each([
  ['', 'main', undefined],
  ['&kernel=sub1', 'sub', undefined],
  ['&kernel=sub2', undefined, 'kernel_not_found'],
  ['&kernel=../main1', undefined, 'kernel_not_found'],
])('a terminal is opened in the container that the address names%s', async (query, reached, refused) => {
  const [main, sub] = ['1', '2'].map(digit => AgentId.parse(ID.slice(0, -1) + digit))
  if (!main || !sub) throw new Error('no agents')
  const kernelId = KernelId.parse(ID)
  const seen: unknown[] = []
  const said: string[] = []
  await using gateway = createTunnelGateway({
    locate: () =>
      Promise.resolve({
        agentId: main,
        kernelId,
        kernels: new Map([
          ['main1', { agentId: main, kernelId }],
          ['sub1', { agentId: sub, kernelId }],
        ]),
        status: 'RUNNING' as const,
        apps: [],
        ownerId: userId,
        domain: 'default',
      }),
    verifyGrant: () => Promise.reject(new AppError('grant_invalid')),
    authenticateUpgrade: () => Promise.resolve({ loginId: 'login', userId, scopes: null } as never),
    isCredentialValid: () => Promise.resolve(true),
    agents: {
      reach: id => {
        seen.push(id === sub ? 'sub' : 'main')
        return Promise.reject(new AppError('agent_unreachable'))
      },
      verifyDataToken: () => undefined,
      verifyDataProof: () => undefined,
    },
  })
  const headers = {
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  const url = `/api/v1/sessions/${sessionId}/terminal?name=main${query}`
  const socket = new Socket()
  socket.write = socket.end = (text: unknown) => Boolean(said.push(String(text))) as never
  await gateway.handle({ method: 'GET', url, headers } as unknown as IncomingMessage, socket, Buffer.alloc(0))
  socket.destroy()
  expect(seen).toEqual(reached === undefined ? [] : [reached])
  if (refused) expect(said.join('')).toContain(refused)
})

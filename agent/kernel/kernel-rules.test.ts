import { expect, test } from 'vitest'
import { type KernelSpec } from '#agent/contract'
import { type AgentId, type ManagerId } from '#manager/contract'
import { labelOf } from './kernel-rules.ts'

test('the label of a kernel, which everybody who may ask the engine reads, holds no keys, files, scripts or seeds', () => {
  const spec = {
    kernelId: 'kernel-1',
    allowedNames: ['pypi.org'],
    authorizedKeys: ['key-of-owner'],
    dotfiles: [{ path: '.netrc', content: 'text-of-dotfile' }],
    bootstrapScript: 'text-of-script',
    clusterSeed: 'seed-of-keys',
  } as unknown as KernelSpec
  const label = labelOf(spec, 'm' as ManagerId, 'a' as AgentId)
  expect(label).toMatchObject({ kernelId: 'kernel-1', allowedNames: ['pypi.org'], managerId: 'm', agentId: 'a' })
  expect(JSON.stringify(label)).not.toMatch(/key-of-owner|text-of|seed-of/)
})

import { type ImageInfo } from 'dockerode'
import { z } from 'zod'
import { type AgentImage, KernelApp } from '#agent/contract'
import { parseAmount, type SlotName } from '#manager/contract'

/** An app as the label `berth.image.apps` (JSON array) has it. */
const LabelledApp = KernelApp.extend({
  title: z.string().optional(),
  command: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  path: z.string().startsWith('/').default('/'),
})
const APP_NAME = /^[a-z][a-z0-9-]{0,31}$/

/** Resources of Backend.AI's labels and ours. */
const SLOTS: readonly (readonly [label: string, slot: SlotName])[] = [
  ['cpu', 'cpu'],
  ['mem', 'mem'],
  ['cuda.device', 'cuda.device'],
  ['cuda.shares', 'cuda.shares'],
]

/**
 * What an image says about itself. Ours: `berth.image.{title,description,min.cpu,min.mem,shmem,apps}`. Images made for Backend.AI:
 * `ai.backend.service-ports` and `ai.backend.resource.{min.*,preferred.shmem}`. What cannot be read counts as not said: a bad label must
 * not hide an image.
 *
 * @returns undefined for images that nobody launches: dangling ones and the toolbox
 */
export function readImage(image: ImageInfo): AgentImage | undefined {
  const references = (image.RepoTags ?? []).filter(tag => !tag.includes('<none>') && !tag.startsWith('berth/toolbox:'))
  if (references.length === 0) return undefined
  // Null for images without labels, whatever the types say.
  const labels = (image.Labels as Record<string, string> | null) ?? {}
  const ours = Object.keys(labels).some(name => name.startsWith('berth.image.'))
  const theirs = 'ai.backend.service-ports' in labels || 'ai.backend.role' in labels
  const minimum = SLOTS.flatMap(([name, slot]) => {
    const text = labels[`berth.image.min.${name}`] ?? labels[`ai.backend.resource.min.${name}`]
    const amount = text === undefined ? undefined : parseAmount(slot, text)
    return amount === undefined ? [] : [[slot, amount] as const]
  })
  return {
    references: references.toSorted(),
    id: image.Id,
    sizeBytes: image.Size,
    title: labels['berth.image.title'] ?? labels['org.opencontainers.image.title'] ?? references[0] ?? '',
    description: labels['berth.image.description'] ?? labels['org.opencontainers.image.description'] ?? '',
    minimum: Object.fromEntries(minimum),
    shmemBytes:
      parseAmount('mem', labels['berth.image.shmem'] ?? labels['ai.backend.resource.preferred.shmem'] ?? '') ?? 0,
    apps: ours ? readApps(labels['berth.image.apps']) : readServicePorts(labels['ai.backend.service-ports']),
    labelled: ours || theirs,
  }
}

function readApps(text: string | undefined): KernelApp[] {
  const list = z.array(z.unknown()).safeParse(parseJson(text ?? '[]'))
  if (!list.success) return []
  return list.data.flatMap(item => {
    const app = LabelledApp.safeParse(item)
    if (!app.success || !APP_NAME.test(app.data.name)) return []
    const { env, title, environ, ...rest } = app.data
    return [{ ...rest, title: title ?? rest.name, environ: { ...env, ...environ } }]
  })
}

/** `name:protocol:port` or `name:protocol:[port1,port2]`, comma-separated; protocols http, tcp, pty, preopen, internal, vnc, rdp. */
export function readServicePorts(text = ''): KernelApp[] {
  return [...text.matchAll(/([A-Za-z0-9_-]+):([a-z]+):(?:\[([\d,]+)\]|(\d+))/g)].flatMap(match => {
    const [, name = '', protocol = '', several, single] = match
    const port = Number((several ?? single ?? '').split(',')[0])
    if (protocol === 'pty' || protocol === 'internal' || port < 1 || port > 65_535) return []
    const safe = name.toLowerCase().replace(/_/g, '-')
    if (!APP_NAME.test(safe)) return []
    const kind = protocol === 'http' ? 'http' : 'tcp'
    return [
      { name: safe, title: name, protocol: kind, path: '/', port, command: [], environ: {}, secret: 'none' as const },
    ]
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

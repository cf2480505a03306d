import { z } from 'zod'
import { cleanLine, cleanLines } from '#base/clean-text'
import { parseJson } from '#base/parse-json'
import { parseAmount, type SlotName } from '#manager/contract'
import { KernelApp } from './kernel-app.ts'
import { type AgentImage } from './reports.ts'

/** An app in the label `berth.image.apps` (JSON array). */
const LabelledApp = KernelApp.extend({
  title: z.string().optional(),
  command: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  path: z.string().startsWith('/').default('/'),
})
const APP_NAME = /^[a-z][a-z0-9-]{0,31}$/

/** Slots that Backend.AI's labels and ours can name. */
const SLOTS: readonly (readonly [label: string, slot: SlotName])[] = [
  ['cpu', 'cpu'],
  ['mem', 'mem'],
  ['cuda.device', 'cuda.device'],
  ['cuda.shares', 'cuda.shares'],
]

/** Label of an image made from a session: the name of the session's owner, as in the image's name. */
export const LABEL_MADE_BY = 'berth.session.owner'

/** An image as an engine or a registry describes it. */
export interface DescribedImage {
  readonly id: string
  readonly references: readonly string[]
  readonly sizeBytes: number
  readonly labels: Readonly<Record<string, string>>
}

/** Whether these labels mark an image made for sessions, as opposed to one that merely could be used for them. */
export function isLabelled(labels: Readonly<Record<string, string>>): boolean {
  return hasOurs(labels) || THEIRS.some(name => name in labels)
}

const THEIRS = ['ai.backend.kernelspec', 'ai.backend.service-ports', 'ai.backend.role']
const hasOurs = (labels: Readonly<Record<string, string>>) =>
  Object.keys(labels).some(name => name.startsWith('berth.image.'))

/**
 * Describes an image by its labels. Ours: `berth.image.{title,description,min.*,shmem,apps}`. Images made for Backend.AI:
 * `ai.backend.service-ports` and `ai.backend.resource.{min.*,preferred.shmem}`. An invalid label counts as missing, so that a bad label
 * does not hide an image.
 */
export function describeImage({ id, references, sizeBytes, labels }: DescribedImage): AgentImage {
  const minimum = SLOTS.flatMap(([name, slot]) => {
    const text = labels[`berth.image.min.${name}`] ?? labels[`ai.backend.resource.min.${name}`]
    const amount = text === undefined ? undefined : parseAmount(slot, text)
    return amount === undefined ? [] : [[slot, amount] as const]
  })
  const names = references.toSorted()
  const madeBy = cleanLine(labels[LABEL_MADE_BY] ?? '', 200)
  return {
    references: names,
    id,
    sizeBytes,
    title: cleanLine(firstFilled(labels['berth.image.title'], labels['org.opencontainers.image.title'], names[0]), 200),
    description: cleanLines(
      firstFilled(labels['berth.image.description'], labels['org.opencontainers.image.description']),
      2_000,
    ),
    minimum: Object.fromEntries(minimum),
    shmemBytes:
      parseAmount('mem', labels['berth.image.shmem'] ?? labels['ai.backend.resource.preferred.shmem'] ?? '') ?? 0,
    apps: appsOfImage(labels),
    labelled: isLabelled(labels),
    ...(madeBy === '' ? {} : { madeBy }),
  }
}

/** The apps in the labels, with their commands. */
export function appsOfImage(labels: Readonly<Record<string, string>>): KernelApp[] {
  return hasOurs(labels) ? readApps(labels['berth.image.apps']) : readServicePorts(labels['ai.backend.service-ports'])
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

/** Name, protocol, and several ports or one. A name is read from its begin only, because a label may be a megabyte of one. */
export const SERVICE_PORTS = /(?<![A-Za-z0-9_-])([A-Za-z0-9_-]+):([a-z]+):(?:\[([\d,]+)\]|(\d+))/g

/** `name:protocol:port` or `name:protocol:[port1,port2]`, comma-separated. Without those of pty and internal; all but http and https are tcp. */
export function readServicePorts(text = ''): KernelApp[] {
  return [...text.matchAll(SERVICE_PORTS)].flatMap(match => {
    const [, name = '', protocol = '', several, single] = match
    const port = Number((several ?? single ?? '').split(',')[0])
    if (protocol === 'pty' || protocol === 'internal' || port < 1 || port > 65_535) return []
    const safe = name.toLowerCase().replace(/_/g, '-')
    if (!APP_NAME.test(safe)) return []
    const kind = protocol === 'http' || protocol === 'https' ? protocol : 'tcp'
    return [
      { name: safe, title: name, protocol: kind, path: '/', port, command: [], environ: {}, secret: 'none' as const },
    ]
  })
}

/** A blank label counts as none. */
const firstFilled = (...texts: readonly (string | undefined)[]) => texts.find(text => text?.trim()) ?? ''

/** Facts of a request from which `describeRequest` makes its entry in the audit log. Pure. */
export interface DescribedRequest {
  /** As in the table of routes: `/api/v1/sessions/:id`. */
  readonly path: string
  readonly params: unknown
  readonly body: unknown
  /** The handler's result; undefined if it failed, or returns nothing. */
  readonly reply: unknown
  readonly ok: boolean
  readonly callerId: string | undefined
}

export interface Description {
  readonly target: string | null
  readonly detail: Record<string, unknown>
}

/**
 * Body fields whose value may be logged: flags, numbers, ids, and names of existing things (values are logged only for successful requests,
 * so the named things exist). No passwords, codes, keys or tokens, and no free text.
 */
const TOLD: ReadonlySet<string> = new Set([
  'active',
  'agentId',
  'agentIds',
  'allowHttp',
  'clusterSize',
  'count',
  'domain',
  'dryRun',
  'groupId',
  'idleTimeoutSeconds',
  'includeLocal',
  'kind',
  'maxLifetimeSeconds',
  'mode',
  'owner',
  'permission',
  'priority',
  'rateLimit',
  'reference',
  'replaces',
  'resourceGroup',
  'resourcePolicy',
  'role',
  'schedulable',
  'seconds',
  'selector',
  'sequencer',
  'startsAt',
  'userId',
])

/** Routes that store a request without checking it: names in its body may be anything, so no value is logged. */
const UNCHECKED: ReadonlySet<string> = new Set(['/api/v1/session-templates/:name', '/api/v1/me/image-defaults'])

export function describeRequest(request: DescribedRequest): Description {
  const { path, body, reply, ok, callerId } = request
  const steps = path.split('/').slice(3)
  const params = toRecord(request.params)
  const named = steps.flatMap((step, index) =>
    step.startsWith(':') ? [{ kind: singular(steps[index - 1] ?? ''), name: step.slice(1) }] : [],
  )
  const [first, ...more] = named
  const detail: Record<string, unknown> = {}
  for (const { name } of more) detail[name] = String(params[name])
  if (ok) Object.assign(detail, toldOf(toRecord(body), UNCHECKED.has(path) ? NOTHING : TOLD))
  if (first) return { target: `${first.kind}:${String(params[first.name])}`, detail }
  if (steps[0] === 'me') return { target: callerId === undefined ? null : `user:${callerId}`, detail }
  const made = ok ? madeIds(toRecord(reply)) : []
  if (made.length > 1) Object.assign(detail, { made: made.length, ids: made })
  return { target: made.length > 0 ? `${singular(steps.at(-1) ?? '')}:${made[0] ?? ''}` : null, detail }
}

const NOTHING: ReadonlySet<string> = new Set()

/** Names of the fields in the body, and the values of those that may be logged. */
function toldOf(body: Readonly<Record<string, unknown>>, tellable: ReadonlySet<string>): Record<string, unknown> {
  const fields = Object.keys(body)
  const told = Object.entries(body).filter(([key, value]) => tellable.has(key) && isPlain(value))
  return { ...(fields.length > 0 ? { fields } : {}), ...Object.fromEntries(told) }
}

function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(item => typeof item !== 'object' && isPlain(item))
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

/** Largest number of ids in one entry: longer lists continue in further entries. */
const IDS_OF_ENTRY = 50

/** Splits the details of one request into entries, so that every created thing is named. Pure. */
export function inEntries(detail: Readonly<Record<string, unknown>>): readonly Readonly<Record<string, unknown>>[] {
  const { ids } = detail
  if (!Array.isArray(ids) || ids.length <= IDS_OF_ENTRY) return [detail]
  const parts = Math.ceil(ids.length / IDS_OF_ENTRY)
  return Array.from({ length: parts }, (_, part) => ({
    ...detail,
    ids: ids.slice(part * IDS_OF_ENTRY, (part + 1) * IDS_OF_ENTRY),
  }))
}

function madeIds(reply: Readonly<Record<string, unknown>>): string[] {
  const items = Array.isArray(reply.items) ? reply.items.map(toRecord) : [toRecord(reply.user ?? reply)]
  return items.flatMap(item => {
    const id = item.id ?? item.accessKey ?? item.name
    return typeof id === 'string' ? [id] : []
  })
}

/** `resource-policies` → `resource-policy`. */
function singular(word: string): string {
  return word.replace(/ies$/, 'y').replace(/([^s])s$/, '$1')
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

import { isAppError, type ErrorCode } from '#manager/contract'
import { errorText } from '../../ui/error-text.ts'
import { type LaunchErrors, type LaunchField } from './launch-form.ts'

const FIELD_OF_CODE: Readonly<Partial<Record<ErrorCode, LaunchField>>> = {
  session_name_taken: 'name',
  image_not_found: 'image',
  folder_not_found: 'folders',
  storage_away: 'folders',
  dependency_not_found: 'dependsOn',
  user_not_found: 'owner',
  network_not_allowed: 'network',
  network_not_enforceable: 'network',
}
const FIELD_OF_PATH: Readonly<Record<string, LaunchField>> = {
  name: 'name',
  image: 'image',
  shmem: 'shmem',
  count: 'count',
  environ: 'environ',
  folders: 'folders',
  startupCommand: 'startupCommand',
  runImageCommand: 'startupCommand',
  maxLifetimeSeconds: 'maxLifetime',
  idleTimeoutSeconds: 'idleTimeout',
  'slurm.timeLimitMinutes': 'slurmTime',
  priority: 'priority',
  startsAt: 'startsAt',
  owner: 'owner',
  dependsOn: 'dependsOn',
  clusterSize: 'clusterSize',
  network: 'network',
  'network.names': 'allowedNames',
  gpu: 'gpuChoice',
  'resources.cpu': 'cpu',
  'resources.mem': 'mem',
  'resources.cuda.device': 'gpu',
  'resources.cuda.shares': 'gpu',
}

/** Maps a refusal of the manager to messages of form fields; empty if the refusal belongs above the form. */
export function refusedFields(error: unknown): LaunchErrors {
  if (!isAppError(error)) return {}
  const field = FIELD_OF_CODE[error.code]
  const { title, why } = errorText(error)
  if (field) return { [field]: why || `${title}.` }
  const { fields } = error.detail
  if (error.code !== 'bad_request' || !Array.isArray(fields)) return {}
  const placed = (fields as { path?: unknown; message?: unknown }[]).map(({ path, message }) => {
    const text = String(path)
    return [FIELD_OF_PATH[text] ?? FIELD_OF_PATH[text.split('.')[0] ?? ''], String(message)] as const
  })
  // A message without a field must not be hidden behind messages that have one: show the whole refusal above the form.
  if (placed.some(([target]) => target === undefined)) return {}
  return Object.fromEntries(placed) as LaunchErrors
}

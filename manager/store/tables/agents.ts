import { type Default, type DefaultJson, type Json, type MaybeJson, type MaybeTime, type Time } from './columns.ts'
import {
  type AgentId,
  type AgentRemoval,
  type Device,
  type ResourceSlots,
  type SettableMode,
  type TextKeys,
  type UserId,
} from '#manager/contract'
import { type AgentImage, type AgentProgram } from '#agent/contract'

export interface AgentsTable {
  id: AgentId
  name: string
  resource_group: string
  /** Ed25519, SPKI, base64. */
  public_key: string
  status: 'CONNECTED' | 'LOST' | 'REVOKED'
  schedulable: Default<boolean>
  /** Base units. */
  capacity: Json<ResourceSlots>
  devices: Json<Device[]>
  /** Mode of each GPU, by its UUID: the mode that the agent reported first, until an admin sets another. */
  device_modes: DefaultJson<Readonly<Record<string, SettableMode>>>
  /** Digest of the image list that the agent reported last. */
  images_digest: string | null
  network_isolation: Default<'full' | 'partial'>
  network_isolation_reason: string | null
  /** Keys of that text for translations; null if the agent is older and sends none. */
  network_isolation_reason_by: MaybeJson<TextKeys>
  /** Version of the agent's software. */
  version: Default<string>
  engine_version: Default<string>
  joined_at: Time
  last_seen_at: Time
  /** Text for admins: the parts of the agent's reports that could not be processed, and why. Null if nothing is wrong. */
  problem: string | null
  problem_by: MaybeJson<TextKeys>
  /** Whether superadmins were informed that no session can start there. */
  fault_told: Default<boolean>
  /** As it reports its program; null for agents of an older version. */
  program: MaybeJson<StoredProgram>
  /** Update of the program that is wanted, in progress or failed. */
  program_update: MaybeJson<ProgramUpdate>
  /** How it leaves, or has left. */
  removal: MaybeJson<AgentRemoval>
  /** Incremented by every change; event hints carry it. */
  row_version: Default<number>
}

export type StoredProgram = Omit<AgentProgram, 'busy'>

interface BegunUpdate {
  /** Id of the request to the agent. */
  readonly id: string
  readonly version: string
  /** Digest of the new program. */
  readonly digest: string
  /** When it began; ISO 8601. */
  readonly at: string
}
export type ProgramUpdate =
  | { readonly state: 'wanted'; readonly at: string }
  | ({ readonly state: 'updating' } & BegunUpdate)
  | ({ readonly state: 'failed'; readonly why: string; readonly whyBy: TextKeys } & BegunUpdate)

/** The program that agents get; one row at most. */
export interface AgentTargetTable {
  one: Default<boolean>
  version: string
  digest: string
}

export interface JoinTokensTable {
  token_hash: Buffer
  resource_group: string
  created_by: UserId | null
  created_at: Time
  expires_at: Time
  used_at: MaybeTime
  used_by: AgentId | null
  /** Id for the agent that joins with this token; null in tokens of older versions. */
  agent_id: AgentId | null
  /** Existing agent that the agent joining with this token replaces. */
  replaces: AgentId | null
  /** Sign-in with which it was made; null for a signed request, and for tokens that no person made. */
  login_id: Default<string | null>
  /** Access key with which it was made, in a signed request or a sign-in with it. */
  keypair: Default<string | null>
}

export interface AgentImagesTable {
  agent_id: AgentId
  /** Image id as the engine reports it, `sha256:…`. */
  digest: string
  image: Json<AgentImage>
  /** SHA-256 of the text of `image`. */
  described: Buffer
  seen_at: Time
}

import { type FolderPort, type HostSettings, type ProxyFault, type Tunnel } from '#proxy/contract'
import {
  type AccessToken,
  type Announcement,
  type AuthOptions,
  type BootstrapScript,
  type Dotfile,
  type ErrorCode,
  type Folder,
  type FolderCount,
  type FolderShares,
  type GroupRef,
  type Image,
  type ImageDefaults,
  type Keypair,
  type Login,
  type Message,
  type OwnIdentity,
  type Preset,
  type ReceivedFolderInvitation,
  type ResourceGroup,
  type Resources,
  type Role,
  type ScopeUsage,
  type Session,
  type SessionShare,
  type SessionSpec,
  type SessionStats,
  type SessionTemplate,
  type SshKeypair,
  type StorageHost,
  type TotpStatus,
  type UsageHistory,
  type User,
  type WhatIf,
} from '#manager/contract'
import { type AdminWorld } from './console-double-admin.ts'
import { type DoubleFiles } from './console-double-files.ts'
import { type PublishedWorld } from './console-double-published.ts'

/** The state behind the double's answers; tests change it while the page is open. */
export interface World extends PublishedWorld {
  signedIn: boolean
  /** The token that programs get for a sign-in. */
  token?: string
  role: Role
  sessions: Session[]
  members?: SessionShare[]
  logs?: Readonly<Record<string, string>>
  /** Parts of every stored log; default: the log in one part. */
  logParts?: readonly string[]
  images: Image[]
  resources: Resources
  /** Answers for single resource groups; all others get `resources`. */
  resourcesOf?: Record<string, Resources>
  usage?: ScopeUsage[]
  presets?: Preset[]
  projects?: GroupRef[]
  resourceGroups?: ResourceGroup[]
  /** The outcome of a request; by default the session starts now. */
  whatIf?: (spec: SessionSpec) => WhatIf
  /** Makes the next request of this route (`METHOD path`) fail with this error. */
  failures: Map<string, { code: ErrorCode; detail?: Record<string, unknown> }>
  /** Received requests that change something, as `METHOD path`, with their bodies. */
  changes: { request: string; body: unknown; query?: string }[]
  /** Answers of single routes (`METHOD path`), instead of the usual ones. */
  replies?: Readonly<Record<string, { readonly status: number; readonly value: unknown }>>
  /** True: lists of sessions are never answered. */
  holdLists?: boolean
  folders?: Folder[]
  /** Files of every folder. */
  files?: DoubleFiles
  /** Requests (`METHOD path`) that are never answered. */
  hold?: readonly string[]
  storageHosts?: StorageHost[]
  folderCount?: FolderCount
  /** Members and open invitations of every folder. */
  shares?: FolderShares
  /** Options of the sign-in page. */
  authOptions?: Partial<AuthOptions>
  /** The person's accounts at sign-in providers. */
  identities?: readonly OwnIdentity[]
  totp?: TotpStatus
  sshKey?: SshKeypair
  hostSettings?: HostSettings
  tunnels?: readonly Tunnel[]
  folderPort?: FolderPort
  proxyFaults?: readonly ProxyFault[]
  announcement?: Announcement
  messages?: Message[]
  accountNews?: readonly Message[]
  /** End of the previous visit. */
  visitSince?: string
  keypairs?: Keypair[]
  tokens?: AccessToken[]
  logins?: Login[]
  dotfiles?: Dotfile[]
  bootstrapScript?: BootstrapScript
  history?: UsageHistory['items']
  /** Query of the last request for the history. */
  asked?: string
  /** Statistics of a session over time, for a request with this URL. */
  figures?: (url: URL) => { step: number; items: SessionStats[] }
  invitations?: ReceivedFolderInvitation[]
  templates?: SessionTemplate[]
  imageDefaults?: ImageDefaults[]
  /** The users that an admin finds. */
  users?: User[]
  admin?: AdminWorld
  /** Event streams are answered with 503. */
  refuseStreams?: boolean
}

import { type ResourceSlots } from '#manager/contract'
import { type Default, type DefaultJson, type Json, type MaybeTime, type Time } from './columns.ts'

export interface RegistriesTable {
  /** Its host, as in image references: `docker.io`, `registry.example.org:5000`. */
  name: string
  url: string
  /** Name spaces that a rescan walks; empty = what its catalogue lists. */
  projects: DefaultJson<string[]>
  username: string | null
  /** At place `registry:<name>`. */
  sealed_password: string | null
  active: Default<boolean>
  scanned_at: MaybeTime
  created_at: Time
  version: Default<number>
}

/** What the last rescan found. */
export interface RegistryImagesTable {
  registry: string
  reference: string
  /** Image id (digest of its configuration), `sha256:…`, the same as on an engine that holds it. */
  digest: string
  manifest_digest: string
  architecture: string
  size_bytes: number
  labels: Json<Record<string, string>>
  scanned_at: Time
}

/** What an admin has changed about an image. */
export interface ImageSettingsTable {
  reference: string
  /** Base units; replaces what its labels say, slot by slot. */
  minimum: DefaultJson<ResourceSlots>
  created_at: Time
  version: Default<number>
}

import { z } from 'zod'
import { PlainText, TextUpTo } from '../plain-text.ts'

/** Docker Hub. It has no catalogue, its images have no host in their name, and its addresses differ from its name. */
export const DOCKER_HUB = 'docker.io'
export const DOCKER_HUB_URL = 'https://registry-1.docker.io'
const DOCKER_HUB_NAMES: readonly string[] = [DOCKER_HUB, 'index.docker.io', 'registry-1.docker.io']

/**
 * The host as image references name it: a registry at `https://cr.example.org:5000` has the name `cr.example.org:5000`, and its
 * images are `cr.example.org:5000/…`. Docker Hub is `docker.io`, whichever of its names is given.
 */
export const RegistryName = TextUpTo(255)
  .toLowerCase()
  .overwrite(name => (DOCKER_HUB_NAMES.includes(name) ? DOCKER_HUB : name))
  .regex(
    /^(localhost|\[[0-9a-f:]+\]|[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+|[a-z0-9][a-z0-9-]*(?=:))(:\d{1,5})?$/,
    'must be the host of the registry, with its port if it has one, such as cr.example.org or cr.example.org:5000',
  )
const RegistryUrl = TextUpTo(512).describe(
  'https://… (default: from the name). http://… on this machine, or elsewhere with allowHttp.',
)
/** Name space (or the beginning of repositories) of a registry. */
export const RegistryProject = TextUpTo(255).regex(
  /^[a-z0-9]+([._/-]+[a-z0-9]+)*$/,
  'must be a name space or repository, such as "library" or "lab/python"',
)
const Projects = z
  .array(RegistryProject)
  .max(500)
  .describe(
    'Name spaces (or repositories) that a rescan reads; empty = the whole catalogue. Required for Docker Hub, which has no catalogue.',
  )
const Username = PlainText(255).min(1)
const Password = TextUpTo(8192).min(1)
const AllowHttp = z.boolean().describe('Allow sending images and the password unencrypted to another machine.')

export const RegistrySpec = z
  .strictObject({
    name: RegistryName,
    url: RegistryUrl.optional(),
    projects: Projects.default([]),
    username: Username.optional(),
    password: Password.optional(),
    active: z.boolean().default(true),
    allowHttp: AllowHttp.default(false),
  })
  .meta({ id: 'RegistrySpec' })
export type RegistrySpec = z.infer<typeof RegistrySpec>

/** Change of a registry. A key that is left out keeps its value; null removes user name and password. */
export const RegistryChange = z
  .strictObject({
    url: RegistryUrl.optional(),
    projects: Projects.optional(),
    username: Username.nullable().optional(),
    password: Password.nullable().optional(),
    active: z.boolean().optional(),
    allowHttp: AllowHttp.default(false),
  })
  .meta({ id: 'RegistryChange' })
export type RegistryChange = z.infer<typeof RegistryChange>

/** A registry's answers to a connection test. */
export const RegistryCheck = z
  .object({
    signedIn: z.boolean().describe('Whether it took a stored user name and password.'),
    repositories: z
      .int()
      .min(0)
      .describe('Repositories that it lists first, at most a page, only those of the name spaces.'),
    repository: z.string().nullable().describe('The repository whose tags were read; null where there is none.'),
    tags: z.int().min(0).describe('Tags of that repository, at most a page.'),
  })
  .meta({ id: 'RegistryCheck' })
export type RegistryCheck = z.infer<typeof RegistryCheck>

export const Registry = z
  .object({
    name: z.string(),
    url: z.string(),
    projects: z.array(z.string()),
    username: z.string().nullable(),
    /** Whether a password is stored. It is stored encrypted and never returned. */
    hasPassword: z.boolean(),
    active: z.boolean(),
    /** Number of images known from the last rescan. */
    images: z.int(),
    scannedAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
    version: z.int(),
  })
  .meta({ id: 'Registry' })
export type Registry = z.infer<typeof Registry>

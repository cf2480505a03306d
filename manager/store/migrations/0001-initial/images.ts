/** Registries and images. */
export const images: readonly string[] = [
  `create table registries (
    name text primary key,
    url text not null,
    projects jsonb not null default '[]',
    username text,
    sealed_password text,
    active boolean not null default true,
    scanned_at timestamptz,
    created_at timestamptz not null default now(),
    version bigint not null default 1
  )`,
  `create table registry_images (
    registry text not null references registries on delete cascade,
    reference text not null,
    digest text not null,
    manifest_digest text not null,
    architecture text not null,
    size_bytes bigint not null,
    labels jsonb not null default '{}',
    scanned_at timestamptz not null default now(),
    primary key (registry, reference)
  )`,
  'create index registry_images_digest on registry_images (digest)',
  'create index registry_images_reference on registry_images (reference)',
  `create table image_aliases (
    alias text primary key,
    -- Name of an image; agents and registries come and go, so nothing refers to one.
    reference text not null,
    created_at timestamptz not null default now()
  )`,
  `create table image_domains (
    -- Name of an image; agents and registries come and go, so nothing refers to one.
    reference text primary key,
    -- Domains that may use the image; none: only superadmins may, also when the last one of the list is deleted.
    domains text[] not null,
    created_at timestamptz not null default now()
  )`,
  `create table image_settings (
    reference text primary key,
    minimum jsonb not null default '{}',
    created_at timestamptz not null default now(),
    version bigint not null default 1
  )`,
  `create table image_requests (
    id uuid primary key,
    session_id uuid not null unique references sessions on delete cascade,
    reference text not null unique,
    title text,
    note text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
]

import { defineWords } from '../i18n.ts'

/** Titles of the pages of administration, and of the parts of their list. */
const en = {
  partOverview: 'Cluster',
  partPeople: 'People and limits',
  partSystem: 'System',
  overview: 'Overview',
  sessions: 'All sessions',
  queue: 'Queue',
  agents: 'Agents',
  agent: 'Agent',
  users: 'Users',
  user: 'User',
  credentials: 'Credentials',
  invitations: 'Invitations',
  domains: 'Domains',
  signInProviders: 'Sign-in providers',
  scimTokens: 'SCIM tokens',
  projects: 'Projects',
  policies: 'Resource policies',
  presets: 'Presets',
  groups: 'Resource groups',
  access: 'Access to resource groups',
  groupPage: 'Resource group',
  images: 'Images',
  registries: 'Registries',
  webhooks: 'Webhooks',
  usage: 'Usage',
  month: 'Month report',
  settings: 'Settings',
  audit: 'Audit log',
  system: 'Maintenance',
  diagnostics: 'Diagnostics',
  about: 'About Berth',
} as const

export default en
export const t = defineWords('admin-titles', en)

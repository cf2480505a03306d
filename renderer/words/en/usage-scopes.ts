import { defineWords } from '../i18n.ts'

const en = {
  loading: 'Loading the usage',
  cluster: 'Cluster',
  clusterNote: 'What all hosts have, and what the sessions of everybody hold of it',
  noLimit: '{amount}, no limit',
  share: 'Yours: {amount}',
  you: 'You',
  keypair: 'Keypair {name}',
  group: 'Project {name}',
  domain: 'Domain {name}',
  yourSessions: 'All your sessions together',
  keypairSessions: 'Sessions launched with this keypair',
  projectSessions: 'All members of the project together',
  domainSessions: 'Everyone in the domain together',
  policy: 'policy {name}',
} as const

export default en
export const t = defineWords('usage-scopes', en)

import { defineWords } from '../i18n.ts'

const en = {
  title: 'Usage and limits',
  loading: 'Loading the usage',
  cluster: 'Cluster',
  clusterNote: 'What all hosts have, and what the sessions of everybody hold of it',
  noHost: 'No host is connected',
  hostsLost: '{lost} of {all} hosts lost',
  usage: 'Usage',
  noLimit: '{amount}, no limit',
  share: 'Yours: {amount}',
  sessions: 'Sessions',
  running: '{count, number} running',
  clusterHolds: 'Cluster {amount}',
  groupHolds: '{group} {amount}',
  projectHolds: '{project} {amount}',
  holdLimited: '{label}: you hold {amount}, of your limit.',
  holdUnlimited: '{label}: you hold {amount}, no limit of your own.',
  inProject: 'Project {project}: {amount}.',
  together: 'Everyone together: {amount}.',
  togetherInGroup: 'Everyone together in resource group {group}: {amount}.',
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
export const t = defineWords('usage', en)

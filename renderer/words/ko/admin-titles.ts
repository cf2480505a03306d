import type en from '../en/admin-titles.ts'
import { type Translation } from '../message-types.ts'

export default {
  partOverview: '클러스터',
  partPeople: '사용자와 한도',
  partSystem: '시스템',
  overview: '개요',
  sessions: '모든 세션',
  queue: '대기열',
  agents: '에이전트',
  agent: '에이전트',
  users: '사용자',
  user: '사용자',
  credentials: '키 쌍',
  invitations: '초대',
  domains: '도메인',
  projects: '프로젝트',
  policies: '자원 정책',
  presets: '프리셋',
  groups: '자원 그룹',
  groupPage: '자원 그룹',
  images: '이미지',
  registries: '레지스트리',
  usage: '사용량',
  settings: '설정',
  audit: '감사 로그',
  system: '유지 관리',
} satisfies Translation<typeof en>

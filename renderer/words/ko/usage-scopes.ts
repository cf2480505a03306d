import type en from '../en/usage-scopes.ts'
import { type Translation } from '../message-types.ts'

export default {
  loading: '사용량을 불러오는 중',
  cluster: '클러스터',
  clusterNote: '모든 호스트의 자원과 그중 모든 사용자의 세션이 쓰는 양',
  noLimit: '{amount}, 한도 없음',
  share: '내 사용량: {amount}',
  you: '나',
  keypair: '키 쌍 {name}',
  group: '{name} 프로젝트',
  domain: '{name} 도메인',
  yourSessions: '내 모든 세션',
  keypairSessions: '이 키 쌍으로 시작한 세션',
  projectSessions: '프로젝트의 모든 구성원',
  domainSessions: '도메인의 모든 사용자',
  policy: '정책 {name}',
} satisfies Translation<typeof en>

"""Paper E, Zhao, Tan and Xu: online NMF with general divergences, its batch and its peers."""
